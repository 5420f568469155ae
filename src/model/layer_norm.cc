#include "model/layer_norm.h"

#include <ATen/record_function.h>

#include <optional>

#include "base/error.h"
#include "device/device.h"
#include "device/libtorch.h"
#include "device/row_queue.h"
#include "kernels/norm_rows.h"
#include "kernels/processor.h"
#include "model/layer_norm_device.h"
#include "model/linear/spread.h"

namespace alibi {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Maybe = std::optional<torch::Tensor>;

// Rows of a work item. Gradients of gains are summed by item, then item by item in order: the same
// bits for any thread count.
constexpr std::int64_t kRows = 128;

float* numbers(const torch::Tensor& x) { return x.defined() ? x.data_ptr<float>() : nullptr; }

bool takes_rows(const torch::Tensor& weight_C) {
  return has_avx512_bf16() && weight_C.is_cpu() && weight_C.scalar_type() == torch::kFloat &&
         weight_C.is_contiguous();
}

bool one_pass(const torch::Tensor& x, const torch::Tensor& weight_C) {
  return x.is_cpu() && x.scalar_type() == torch::kBFloat16 && takes_rows(weight_C);
}

NormRows rows_of(const torch::Tensor& x, const torch::Tensor& weight_C, const torch::Tensor& bias_C,
                 const NormStatistics& statistics) {
  const std::int64_t width = x.size(-1);
  return {bf16_data(x),
          x.numel() / width,
          width,
          numbers(weight_C),
          numbers(bias_C),
          numbers(statistics.mean_N),
          numbers(statistics.reciprocal_N)};
}

NormRows part(NormRows all, std::int64_t first) {
  all.x += first * all.width;
  all.mean += first;
  all.reciprocal += first;
  all.rows = std::min(kRows, all.rows - first);
  return all;
}

std::int64_t parts(const NormRows& all) { return (all.rows + kRows - 1) / kRows; }

torch::Tensor forward_rows(const torch::Tensor& x, const LayerNorm& norm,
                           const NormStatistics& statistics) {
  RECORD_USER_SCOPE("alibi::norms");
  torch::Tensor y = torch::empty_like(x);
  const NormRows all = rows_of(x, norm.weight_C, norm.bias_C, statistics);
  spread(parts(all), 0, nothing, [&](std::int64_t i, void*) {
    const std::int64_t first = i * kRows;
    norm_rows_bf16(part(all, first), static_cast<float>(norm.epsilon),
                   bf16_data(y) + first * all.width);
  });
  return y;
}

// `added` may be undefined.
NormGradients backward_rows(const NormRows& all, const torch::Tensor& dy,
                            const torch::Tensor& added) {
  NormGradients g{torch::empty_like(dy), {}, {}};
  const torch::Tensor sums_P2C =
      torch::zeros({parts(all), 2, all.width}, torch::TensorOptions(torch::kFloat));
  spread(parts(all), 0, nothing, [&](std::int64_t i, void*) {
    const std::int64_t at = i * kRows * all.width;
    float* sums = numbers(sums_P2C) + i * 2 * all.width;
    norm_rows_backward_bf16(
        part(all, i * kRows),
        {bf16_data(dy) + at, added.defined() ? bf16_data(added) + at : nullptr,
         bf16_data(g.dx) + at, sums, all.bias != nullptr ? sums + all.width : nullptr});
  });
  torch::Tensor total_2C = torch::zeros({2, all.width}, sums_P2C.options());
  for (std::int64_t i = 0; i < sums_P2C.size(0); ++i) total_2C += sums_P2C[i];
  g.dweight_C = total_2C[0];
  if (all.bias != nullptr) g.dbias_C = total_2C[1];
  return g;
}

// By the processor's kernels, or by those of a device.
class ForkNorm : public torch::autograd::Function<ForkNorm> {
 public:
  static variable_list forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight_C, const Maybe& bias_C, double epsilon,
                               const RowModule* kernels) {
    context->set_materialize_grads(false);
    const NormStatistics s = room_for_statistics(x);
    const torch::Tensor bias = bias_C.value_or(torch::Tensor());
    torch::Tensor y = normed(x, {weight_C, bias, epsilon}, s, kernels);
    context->save_for_backward({x, weight_C, bias, s.mean_N, s.reciprocal_N});
    context->saved_data["epsilon"] = epsilon;
    context->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    return {x, y};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    RECORD_USER_SCOPE("alibi::norms");
    if (!gradients[1].defined()) return {gradients[0], {}, {}, {}, {}};
    const variable_list saved = context->get_saved_variables();
    const LayerNorm norm{saved[1], saved[2], context->saved_data["epsilon"].toDouble()};
    const NormStatistics s{saved[3], saved[4]};
    const torch::Tensor added = gradients[0].defined() ? gradients[0].contiguous() : gradients[0];
    const torch::Tensor dy = gradients[1].contiguous();
    const auto* kernels =
        reinterpret_cast<const RowModule*>(context->saved_data["kernels"].toInt());
    const NormGradients g =
        kernels != nullptr
            ? device_norm_gradient(queue_of(*kernels, dy), saved[0], norm, s, dy, added)
            : backward_rows(rows_of(saved[0], norm.weight_C, norm.bias_C, s), dy, added);
    return {g.dx, g.dweight_C, g.dbias_C, {}, {}};
  }

  static torch::Tensor normed(const torch::Tensor& x, const LayerNorm& norm,
                              const NormStatistics& s, const RowModule* kernels) {
    return kernels != nullptr ? device_norm(queue_of(*kernels, x), x, norm, s)
                              : forward_rows(x, norm, s);
  }

 private:
  static RowQueue queue_of(const RowModule& kernels, const torch::Tensor& x) {
    return {&kernels, current_stream(x.device())};
  }
};

torch::Tensor by_libtorch(const torch::Tensor& x, const LayerNorm& norm) {
  const auto typed = [&](const torch::Tensor& p) {
    return p.defined() ? p.to(x.scalar_type()) : p;
  };
  // On CPU bf16 rows may meet fp32 gains; LibTorch's CUDA kernel wants one type.
  const bool mixed = x.is_cpu() && x.scalar_type() == torch::kBFloat16;
  if (!mixed)
    return at::layer_norm(x, norm.weight_C.sizes(), typed(norm.weight_C), typed(norm.bias_C),
                          norm.epsilon);
  const torch::Tensor bias = norm.bias_C.defined() ? norm.bias_C : torch::zeros_like(norm.weight_C);
  return at::layer_norm(x, norm.weight_C.sizes(), norm.weight_C, bias, norm.epsilon);
}

}  // namespace

NormFork fork_norm(const torch::Tensor& x, const LayerNorm& norm, const RowModule* kernels) {
  if (kernels != nullptr &&
      !(device_norm_takes(x, norm) && device_norm_is_right(*kernels, x.device(), x.size(-1))))
    kernels = nullptr;
  if (kernels == nullptr && !one_pass(x, norm.weight_C)) return {x, by_libtorch(x, norm)};
  ensure(norm.weight_C.numel() == x.size(-1) &&
             (!norm.bias_C.defined() || norm.bias_C.sizes() == norm.weight_C.sizes()),
         "a gain, and a bias if any, for every number of a row");
  const torch::Tensor rows = x.contiguous();
  if (!at::GradMode::is_enabled()) {
    const NormStatistics kept = kernels != nullptr ? NormStatistics() : room_for_statistics(rows);
    return {rows, ForkNorm::normed(rows, norm, kept, kernels)};
  }
  const Maybe bias = norm.bias_C.defined() ? Maybe(norm.bias_C) : std::nullopt;
  const variable_list both = ForkNorm::apply(rows, norm.weight_C, bias, norm.epsilon, kernels);
  return {both[0], both[1]};
}

NormFork fork_norm(const torch::Tensor& x, const LayerNorm& norm) {
  return fork_norm(x, norm, row_module_of(x.device()));
}

torch::Tensor layer_norm(const torch::Tensor& x, const LayerNorm& norm) {
  return fork_norm(x, norm).normed;
}

bool RowNorm::takes(const LayerNorm& norm) { return takes_rows(norm.weight_C); }

RowNorm::RowNorm(const LayerNorm& norm)
    : weight_(numbers(norm.weight_C)),
      bias_(numbers(norm.bias_C)),
      width_(norm.weight_C.numel()),
      epsilon_(static_cast<float>(norm.epsilon)) {}

void RowNorm::operator()(const std::uint16_t* x, std::uint16_t* y) const {
  float mean, reciprocal;
  norm_rows_bf16({x, 1, width_, weight_, bias_, &mean, &reciprocal}, epsilon_, y);
}

}  // namespace alibi
