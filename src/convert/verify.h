// What an export wrote, read back and held against the checkpoint before it is called done.
#pragma once

#include <cstdint>

#include "checkpoint/tensors.h"
#include "device/tensor.h"
#include "model/gpt.h"

namespace alibi {

struct Verified {
  double logits = 0;        // largest difference of any logit
  double weights = 0;       // largest norm of a row's difference, by the row's norm
  std::int64_t length = 0;  // of the longest text that was tried
};

struct MostDifference {
  double weights = 0, logits = 0;
  double rounding = 6e-8;  // of each number, whatever its row's norm: fp16 knows none smaller
};

// Runs a model of `config` with the weights read back beside `model` (fp32, CPU) on drawn tokens of
// `length` and 4 `length`. Throws Error headed by `place` where a row of a tensor or the logits
// differ by more than `most`, or where anything is not finite; stopped_error where a signal came.
Verified verify_export(Gpt& model, const ModelConfig& config, const Tensors& read_back,
                       std::int64_t length, const MostDifference& most, const std::string& place);

}  // namespace alibi
