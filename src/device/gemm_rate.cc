#include "device/gemm_rate.h"

#include <algorithm>

#include "base/clock.h"
#include "device/device.h"
#include "device/libtorch.h"

namespace alibi {
namespace {

// -0.5 to 0.5 without a pattern: a device multiplies ones faster than what models hold.
torch::Tensor spread_numbers(std::int64_t rows, std::int64_t width) {
  constexpr double kGolden = 0.6180339887498949;
  return torch::arange(rows * width, torch::kDouble)
      .mul_(kGolden)
      .frac_()
      .sub_(0.5)
      .view({rows, width});
}

}  // namespace

double measure_gemm_rate(torch::Device device, torch::ScalarType type, std::int64_t rows,
                         std::int64_t width) {
  const torch::InferenceMode guard;
  const auto options = torch::TensorOptions().dtype(type).device(device);
  const torch::Tensor x_NC = spread_numbers(rows, width).to(options);
  const torch::Tensor w_FC = spread_numbers(4 * width, width).to(options);
  const int products = device.is_cuda() ? 10 : 1;
  const double operations = 8.0 * products * static_cast<double>(rows) *
                            static_cast<double>(width) * static_cast<double>(width);
  const auto run = [&] {
    for (int i = 0; i < products; ++i) at::linear(x_NC, w_FC);
    synchronize(device);
  };
  run();
  double best = 1e9;
  const double start = seconds_now();
  do {
    const double before = seconds_now();
    run();
    best = std::min(best, seconds_now() - before);
  } while (seconds_now() - start < 0.1);
  return operations / best;
}

}  // namespace alibi
