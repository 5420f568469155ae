#include "model/layer_norm_device.h"

#include <ATen/record_function.h>

#include <algorithm>

#include "base/strings.h"
#include "device/expect_queued.h"
#include "device/first_use.h"
#include "device/libtorch.h"
#include "device/row_queue.h"
#include "model/linear/spread.h"

namespace alibi {
namespace {

bool is_aligned(const torch::Tensor& x) {
  return reinterpret_cast<std::uintptr_t>(x.const_data_ptr()) % 16 == 0;
}

// LibTorch's own memory is aligned; a view may begin anywhere.
torch::Tensor in_rows(const torch::Tensor& x) {
  const torch::Tensor rows = x.contiguous();
  return is_aligned(rows) ? rows : rows.clone();
}

bool are_gains(const torch::Tensor& gains_C, const torch::Tensor& x) {
  return gains_C.scalar_type() == torch::kFloat && gains_C.device() == x.device() &&
         gains_C.dim() == 1 && gains_C.numel() == x.size(-1) && gains_C.is_contiguous() &&
         is_aligned(gains_C);
}

float* numbers(const torch::Tensor& x) { return x.defined() ? x.data_ptr<float>() : nullptr; }

int rows_of(const torch::Tensor& x) { return static_cast<int>(x.numel() / x.size(-1)); }

}  // namespace

NormStatistics room_for_statistics(const torch::Tensor& x) {
  const auto options = x.options().dtype(torch::kFloat);
  const std::int64_t rows = x.numel() / x.size(-1);
  return {torch::empty({rows}, options), torch::empty({rows}, options)};
}

bool device_norm_takes(const torch::Tensor& x, const LayerNorm& norm) {
  return x.scalar_type() == torch::kBFloat16 && x.dim() > 0 && x.numel() > 0 &&
         device_norm_knows(x.numel() / x.size(-1), x.size(-1)) &&
         (is_aligned(x) || !x.is_contiguous()) && are_gains(norm.weight_C, x) &&
         (!norm.bias_C.defined() || are_gains(norm.bias_C, x));
}

torch::Tensor device_norm(const RowQueue& queue, const torch::Tensor& x, const LayerNorm& norm,
                          const NormStatistics& statistics) {
  RECORD_USER_SCOPE("alibi::norms");
  const torch::Tensor rows = in_rows(x);
  torch::Tensor y = torch::empty_like(rows);
  const DeviceNorm a{.rows = rows_of(x),
                     .width = static_cast<int>(x.size(-1)),
                     .x_NC = bf16_data(rows),
                     .weight_C = numbers(norm.weight_C),
                     .bias_C = numbers(norm.bias_C),
                     .epsilon = static_cast<float>(norm.epsilon),
                     .y_NC = bf16_data(y),
                     .mean_N = numbers(statistics.mean_N),
                     .reciprocal_N = numbers(statistics.reciprocal_N)};
  expect_queued(*queue.module, queue.module->norm(a, queue.stream), "the layer-norm kernel",
                without_kernels());
  return y;
}

NormGradients device_norm_gradient(const RowQueue& queue, const torch::Tensor& x,
                                   const LayerNorm& norm, const NormStatistics& statistics,
                                   const torch::Tensor& dy, const torch::Tensor& added,
                                   int most_parts) {
  const int rows = rows_of(x), width = static_cast<int>(x.size(-1));
  const torch::Tensor x_NC = in_rows(x), dy_NC = in_rows(dy), weight_C = in_rows(norm.weight_C);
  const torch::Tensor added_NC = added.defined() ? in_rows(added) : added;
  NormGradients result{torch::empty_like(dy_NC), {}, {}};
  const int parts = std::min(device_norm_parts(rows, width), most_parts);
  const torch::Tensor sums_P2C = torch::empty({parts, 2, width}, weight_C.options());
  const DeviceNormGradient a{
      .rows = rows,
      .width = width,
      .parts = parts,
      .x_NC = bf16_data(x_NC),
      .dy_NC = bf16_data(dy_NC),
      .added_NC = added_NC.defined() ? bf16_data(added_NC) : nullptr,
      .weight_C = numbers(weight_C),
      .mean_N = numbers(statistics.mean_N),
      .reciprocal_N = numbers(statistics.reciprocal_N),
      .dx_NC = bf16_data(result.dx),
      .sums_P2C = numbers(sums_P2C),
  };
  expect_queued(*queue.module, queue.module->norm_gradient(a, queue.stream),
                "the layer norm's gradient kernel", without_kernels());
  const torch::Tensor total_2C = sums_P2C.sum(0);
  result.dweight_C = total_2C[0];
  if (norm.bias_C.defined()) result.dbias_C = total_2C[1];
  return result;
}

namespace {

// Numbers like random ones, of a seed that nothing else depends on.
torch::Tensor waves(torch::IntArrayRef sizes, double step, double size) {
  const std::int64_t count = c10::multiply_integers(sizes);
  return (torch::arange(count, torch::kDouble) * step).sin().mul(size).view(sizes);
}

struct Compared {
  std::string fault;
  // At most `rounding` of the expected number and `more` away from it.
  void at(const char* what, const torch::Tensor& found, const torch::Tensor& expected,
          double rounding, const torch::Tensor& more) {
    if (fault.empty()) fault = too_far(what, found, expected, expected.abs() * rounding + more);
  }
};

}  // namespace

// Three blocks for the sums, each with rows of three rounds or four.
std::string fault_of_device_norm(const RowQueue& queue, torch::Device device, std::int64_t width) {
  const torch::NoGradGuard guard;
  constexpr int kParts = 3;
  const int at_once = device_norm_rows_of_block(static_cast<int>(width));
  const std::int64_t rows = 3 * at_once * kParts + 1;
  const auto bf16 = [&](double step, double size) {
    return waves({rows, width}, step, size).to(torch::kBFloat16);
  };
  const torch::Tensor x = bf16(0.7, 6) + 5, dy = bf16(1.3, 2), added = bf16(2.9, 1);
  const torch::Tensor weight_C = (waves({width}, 1.1, 0.5) + 1).to(torch::kFloat);
  const torch::Tensor bias_C = waves({width}, 0.9, 1).to(torch::kFloat);
  const double epsilon = 1e-5;

  const torch::Tensor exact = x.to(torch::kDouble), down = dy.to(torch::kDouble);
  const torch::Tensor off = exact - exact.mean(-1, true);
  const torch::Tensor reciprocal = (off.square().mean(-1, true) + epsilon).rsqrt();
  const torch::Tensor n = off * reciprocal, g = down * weight_C;
  const torch::Tensor y = n * weight_C;
  const torch::Tensor dx = (g - g.mean(-1, true) - n * (g * n).mean(-1, true)) * reciprocal;

  constexpr double kRounding = 0x1.1p-8;  // of bf16
  const torch::Tensor few = torch::full({}, 1e-5, torch::kDouble);
  Compared compared;
  for (const bool whole : {true, false}) {  // with all that may be left out, and without
    const LayerNorm norm{weight_C.to(device), whole ? bias_C.to(device) : torch::Tensor(), epsilon};
    const torch::Tensor x_there = x.to(device);
    const NormStatistics kept = room_for_statistics(x_there);
    compared.at("the norm", device_norm(queue, x_there, norm, kept), whole ? y + bias_C : y,
                kRounding, few);
    compared.at("the norm without statistics", device_norm(queue, x_there, norm, {}),
                whole ? y + bias_C : y, kRounding, few);
    const NormGradients found =
        device_norm_gradient(queue, x_there, norm, kept, dy.to(device),
                             whole ? added.to(device) : torch::Tensor(), kParts);
    compared.at("the gradient of rows", found.dx, whole ? dx + added : dx, kRounding, few);
    compared.at("the gradient of gains", found.dweight_C, (down * n).sum(0), 0,
                (down * n).abs().sum(0) * 1e-5);
    if (whole)
      compared.at("the gradient of biases", found.dbias_C, down.sum(0), 0,
                  down.abs().sum(0) * 1e-5);
  }
  return compared.fault;
}

bool device_norm_is_right(const RowModule& module, torch::Device device, std::int64_t width) {
  return checked_row_queue(
             &module, device, cat("the layer-norm kernel (rows of ", width, ")"),
             [&](const RowQueue& queue) { return fault_of_device_norm(queue, device, width); })
      .has_value();
}

}  // namespace alibi
