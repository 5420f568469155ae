#include "device/gemm_rate.h"

#include <algorithm>

#include "base/clock.h"

namespace alibi {

double measure_gemm_rate(torch::Device device, torch::ScalarType type, std::int64_t rows,
                         std::int64_t width) {
  const torch::InferenceMode guard;
  const auto options = torch::TensorOptions().dtype(type).device(device);
  const torch::Tensor x_NC = torch::ones({rows, width}, options);
  const torch::Tensor w_FC = torch::ones({4 * width, width}, options);
  const double operations =
      8.0 * static_cast<double>(rows) * static_cast<double>(width) * static_cast<double>(width);
  const auto run = [&] { return at::linear(x_NC, w_FC).select(0, 0).select(0, 0).to(torch::kCPU); };
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
