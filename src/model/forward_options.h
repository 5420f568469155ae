// What a forward pass is given beside tokens. Letters: see model/gpt.h.
#pragma once

#include <vector>

#include "base/random.h"
#include "device/tensor.h"
#include "model/attention.h"
#include "model/cache.h"
#include "model/position/stretch.h"

namespace alibi {

struct ForwardOptions : PositionChanges {
  KeyValueCache* cache = nullptr;  // continues from its length when given
  bool training = false;           // dropout on, masks drawn from `random`
  RandomKey random;
  torch::Tensor document_start_BT;  // undefined: attend across documents
  // If given, gets for each layer the key blocks visited by each query block, int32 (B, H, blocks).
  std::vector<torch::Tensor>* visited_blocks = nullptr;
  std::vector<AttentionInputs>* attention_inputs = nullptr;  // if given, gets those of each layer
  bool recompute = false;  // blocks keep their input only (model/recompute.h)
};

}  // namespace alibi
