// alibi bench attention: forward and forward + backward of kernels side by side with LibTorch's own
// attention under an ALiBi mask.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/cases.h"
#include "bench/record.h"

namespace alibi {

struct AttentionBench {
  std::vector<AttentionCase> cases;
  std::vector<std::string> kernels;  // names of attention_kernels(), or "auto"
  SkipRule skip = SkipRule::kEpsilon;
  bool with_libtorch = true;
  torch::Device device = torch::kCPU;
  Rounds rounds;
  // What a case is measured on; without it, standard normal q, k and v.
  std::function<AttentionInputs(const AttentionCase&)> inputs;
};

BenchRecord bench_attention(const AttentionBench& bench);

}  // namespace alibi
