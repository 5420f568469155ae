// What an export wrote, read back and held against the checkpoint before it is called done.
#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "checkpoint/tensors.h"
#include "model/gpt.h"

namespace alibi {

struct Verified {
  double logits = 0;        // largest difference of any logit
  double weights = 0;       // norm of the difference of all weights, by that of the weights
  std::int64_t length = 0;  // of the longest text that was tried
};

// Runs a model of `config` with the weights read back beside `model` (fp32, CPU) on drawn tokens of
// `length` and 4 `length`. Throws Error headed by `place` where logits differ by more than `most`,
// or where anything is not finite.
Verified verify_export(Gpt& model, const ModelConfig& config, const Tensors& read_back,
                       std::int64_t length, double most, const std::string& place);

}  // namespace alibi
