// The tiled kernels (kernels/attention_tiled.h) on tensors: strides taken as they are, work spread
// over LibTorch's threads.
#pragma once

#include "kernels/tile_ops.h"
#include "model/attention.h"

namespace alibi {

// The two types one instruction set offers.
struct TileSet {
  const TileOps* bf16;
  const TileOps* fp32;
};

const char* tiled_attention_lacks(const TileSet& set, const AttentionProblem& problem,
                                  torch::Device device);
// `visited_BHN`, if given: int32 (B, H, query blocks), filled with the key blocks each visited.
AttentionOutputs tiled_attention_forward(const TileSet& set, const AttentionInputs& inputs,
                                         const torch::Tensor& visited_BHN = {});
AttentionGradients tiled_attention_backward(const TileSet& set, const AttentionInputs& inputs,
                                            const AttentionOutputs& outputs,
                                            const torch::Tensor& gradient_BHTD);

// Of the key blocks that order leaves to those of all queries of a text, the share that was
// visited: (B, H) fp64; NaN where a block was not counted (kNotCounted).
inline constexpr int kNotCounted = -1;
torch::Tensor share_of_visited(const torch::Tensor& visited_BHN);

// Keys and values of a text that is read chunk by chunk, kept packed only.
class PackedKeyValues {
 public:
  // `whole` describes the whole text: its keys are the room that is made.
  PackedKeyValues(const TileSet& set, const AttentionProblem& whole);

  // Attention of the chunk's queries to all keys so far and the chunk's, which are added; (B, H, R,
  // D). Every chunk but the last has a multiple of 64 keys, of which the last are the queries'.
  torch::Tensor attend(const AttentionInputs& chunk, const torch::Tensor& visited_BHN = {});
  std::int64_t length() const { return length_; }  // keys so far

 private:
  const TileSet& set_;
  AttentionProblem whole_;
  std::int64_t length_ = 0, unit_bytes_;
  torch::Tensor packed_;
};

}  // namespace alibi
