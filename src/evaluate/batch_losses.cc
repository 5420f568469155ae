#include "evaluate/batch_losses.h"

#include "device/libtorch.h"
#include "loss/cross_entropy.h"

namespace alibi {
namespace {

torch::Tensor rows_of(std::vector<std::int64_t>& values, const Batch& batch, torch::Device device) {
  return torch::from_blob(values.data(), {batch.rows, batch.length}, torch::kLong)
      .clone()
      .to(device);
}

}  // namespace

void append_row(Batch& batch, std::span<const std::int32_t> text, std::int64_t first) {
  for (std::int64_t i = first; i < first + batch.length; ++i) {
    batch.inputs.push_back(i == 0 ? batch.end : text[static_cast<std::size_t>(i - 1)]);
    batch.targets.push_back(text[static_cast<std::size_t>(i)]);
  }
  ++batch.rows;
}

torch::Tensor batch_losses(Gpt& model, Batch& batch, ForwardOptions forward, torch::Device device,
                           std::int64_t chunk_rows) {
  if (!batch.document_starts.empty())
    forward.document_start_BT = rows_of(batch.document_starts, batch, device);
  const torch::Tensor hidden_BTC = model->hidden(rows_of(batch.inputs, batch, device), forward);
  const torch::Tensor targets_BT = rows_of(batch.targets, batch, device);
  return token_losses(hidden_BTC.flatten(0, 1), model->head_VC(), targets_BT.flatten(), chunk_rows)
      .view({batch.rows, batch.length})
      .to(torch::kCPU, torch::kFloat)
      .contiguous();
}

}  // namespace alibi
