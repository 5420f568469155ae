#include "model/loss/chunk_loss.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/strings.h"
#include "device/exact_type.h"
#include "device/expect_queued.h"
#include "device/first_use.h"
#include "device/libtorch.h"
#include "device/row_queue.h"
#include "kernels/processor.h"
#include "kernels/row_ops.h"
#include "model/linear/spread.h"

namespace alibi {
namespace {

torch::Tensor square_sum(const torch::Tensor& log_sums, const ChunkScale& scale) {
  return scale.z > 0 ? log_sums.square().sum() : torch::Tensor();
}

GradientScale row_scale(const ChunkScale& scale, bool needs_gradient) {
  return {needs_gradient ? static_cast<float>(scale.scale) : 0.0F, static_cast<float>(scale.z)};
}

// Each row is read from memory once, and overwritten by its gradient.
ChunkLoss fused_chunk(const torch::Tensor& logits_RV, const torch::Tensor& target_R1,
                      const ChunkScale& scale, bool needs_gradient) {
  const std::int64_t rows = logits_RV.size(0), width = logits_RV.size(1);
  auto* logits = bf16_data(logits_RV);
  const std::int64_t* targets = target_R1.data_ptr<std::int64_t>();
  torch::Tensor losses_R = torch::empty({rows}, torch::TensorOptions(torch::kFloat));
  torch::Tensor log_sums_R = torch::empty_like(losses_R);
  float* losses = losses_R.data_ptr<float>();
  float* log_sums = log_sums_R.data_ptr<float>();
  const GradientScale by = row_scale(scale, needs_gradient);
  at::parallel_for(0, rows, 1, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t row = first; row < end; ++row) {
      if (targets[row] < 0) {
        losses[row] = log_sums[row] = 0;
        if (needs_gradient) std::fill_n(logits + row * width, width, 0);
        continue;
      }
      const RowLoss loss = cross_entropy_row_bf16(logits + row * width, width, targets[row], by);
      losses[row] = loss.cross_entropy;
      log_sums[row] = loss.log_sum;
    }
  });
  return {losses_R.sum(), square_sum(log_sums_R, scale),
          needs_gradient ? logits_RV : torch::Tensor()};
}

}  // namespace

ChunkLoss plain_chunk(const torch::Tensor& logits_RV, const torch::Tensor& target_R1,
                      const ChunkScale& scale, bool needs_gradient) {
  torch::Tensor p_RV = logits_RV.to(exact_type(logits_RV));
  const torch::Tensor counts_R1 =
      scale.left_out ? (target_R1 >= 0).to(p_RV.scalar_type()) : torch::Tensor();
  const torch::Tensor index_R1 = scale.left_out ? target_R1.clamp_min(0) : target_R1;
  torch::Tensor picked_R1 = p_RV.gather(1, index_R1);
  const torch::Tensor highest_R1 = p_RV.amax(1, true);
  const torch::Tensor sum_R1 = p_RV.sub_(highest_R1).exp_().sum(1, true);
  torch::Tensor log_sum_R1 = highest_R1 + sum_R1.log();
  if (scale.left_out) {
    picked_R1 *= counts_R1;
    log_sum_R1 *= counts_R1;
  }
  ChunkLoss result{(log_sum_R1 - picked_R1).sum(), square_sum(log_sum_R1, scale), {}};
  if (!needs_gradient) return result;
  p_RV.div_(sum_R1);
  if (scale.z > 0) p_RV.mul_(1 + 2 * scale.z * log_sum_R1);
  p_RV.scatter_add_(1, index_R1, torch::full_like(sum_R1, -1.0));
  if (scale.left_out) p_RV.mul_(counts_R1);
  result.gradient_RV = p_RV.mul_(scale.scale).to(logits_RV.scalar_type());
  return result;
}

ChunkLoss device_chunk(const RowQueue& queue, const torch::Tensor& logits_RV,
                       const torch::Tensor& target_R1, const ChunkScale& scale,
                       bool needs_gradient) {
  ensure(logits_RV.stride(1) == 1 && target_R1.is_contiguous(), "logits of a row lie together");
  const torch::Tensor losses_R =
      torch::empty({logits_RV.size(0)}, logits_RV.options().dtype(torch::kFloat));
  const torch::Tensor log_sums_R = torch::empty_like(losses_R);
  const DeviceCrossEntropy a{.rows = static_cast<int>(logits_RV.size(0)),
                             .vocabulary = static_cast<int>(logits_RV.size(1)),
                             .pitch = logits_RV.stride(0),
                             .logits_RV = bf16_data(logits_RV),
                             .targets_R = target_R1.data_ptr<std::int64_t>(),
                             .losses_R = losses_R.data_ptr<float>(),
                             .log_sums_R = log_sums_R.data_ptr<float>(),
                             .scale = row_scale(scale, needs_gradient)};
  expect_queued(*queue.module, queue.module->cross_entropy(a, queue.stream),
                "the cross-entropy kernel", without_kernels());
  return {losses_R.sum(), square_sum(log_sums_R, scale),
          needs_gradient ? logits_RV : torch::Tensor()};
}

// Rows that begin within 16 bytes and end within 16, one of them left out.
std::string fault_of_device_chunk(const RowQueue& queue, torch::Device device) {
  constexpr std::int64_t kRows = 5, kVocabulary = 20'003;
  const torch::Tensor logits_RV = (torch::arange(kRows * kVocabulary, torch::kFloat) * 0.7F)
                                      .sin()
                                      .mul(6)
                                      .view({kRows, kVocabulary});
  const torch::Tensor target_R1 = torch::tensor({0L, 20'002L, -1L, 9L, 12'345L}).view({kRows, 1});
  const ChunkScale scale{.scale = 0.125, .z = 0.01, .left_out = true};
  const torch::Tensor bf16_RV = logits_RV.to(torch::kBFloat16);
  const ChunkLoss expected = plain_chunk(bf16_RV.to(torch::kDouble), target_R1, scale, true);
  const ChunkLoss found =
      device_chunk(queue, bf16_RV.to(device), target_R1.to(device), scale, true);
  std::string all;
  const auto compare = [&](const char* what, const torch::Tensor& one, const torch::Tensor& other,
                           double most) {
    const torch::Tensor whole = other.to(torch::kDouble);
    if (all.empty()) all = too_far(what, one, whole, whole.abs().max() * most);
  };
  compare("the loss", found.sum, expected.sum, 1e-5);
  compare("the z-loss", found.square_sum, expected.square_sum, 1e-5);
  compare("the gradient", found.gradient_RV, expected.gradient_RV, 0x1.1p-8);
  return all;
}

namespace {

// Nothing where no kernel of a device takes these numbers.
std::optional<RowQueue> queue_for(const torch::Tensor& x) {
  if (x.scalar_type() != torch::kBFloat16) return std::nullopt;
  const torch::Device device = x.device();
  return checked_row_queue(
      row_module_of(device), device, "the cross-entropy kernel",
      [&](const RowQueue& queue) { return fault_of_device_chunk(queue, device); });
}

}  // namespace

std::int64_t rows_at_once(const torch::Tensor& hidden_NC, std::int64_t rows) {
  constexpr std::int64_t kFormulaBytes = 12, kKernelBytes = 2;  // of a logit and its gradient
  return queue_for(hidden_NC) ? rows * (kFormulaBytes / kKernelBytes) : rows;
}

ChunkLoss chunk_loss(const torch::Tensor& logits_RV, const torch::Tensor& target_R1,
                     const ChunkScale& scale, bool needs_gradient) {
  if (const auto queue = queue_for(logits_RV))
    return device_chunk(*queue, logits_RV, target_R1, scale, needs_gradient);
  const bool bf16 = logits_RV.scalar_type() == torch::kBFloat16;
  const bool fused = bf16 && logits_RV.is_cpu() && has_avx512_bf16();
  return (fused ? fused_chunk : plain_chunk)(logits_RV, target_R1, scale, needs_gradient);
}

}  // namespace alibi
