// One forward pass over rows of a text, and the loss of each of their targets.
#pragma once

#include <span>

#include "data/batches.h"
#include "model/gpt.h"

namespace alibi {

// Adds targets first .. first + batch.length - 1 of `text` as a row, each with the input before it;
// `batch.end` stands before the first of all.
void append_row(Batch& batch, std::span<const std::int32_t> text, std::int64_t first);

// In nats, (rows, length) fp32 on the CPU; `chunk_rows` rows of logits exist at a time.
// `document_starts` of the batch, where there are any, go into `forward`.
torch::Tensor batch_losses(Gpt& model, Batch& batch, ForwardOptions forward, torch::Device device,
                           std::int64_t chunk_rows);

}  // namespace alibi
