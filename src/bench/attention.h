// alibi bench attention: forward and forward + backward of kernels side by side with LibTorch's own
// attention under an ALiBi mask.
#pragma once

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
  Rounds rounds;
};

BenchRecord bench_attention(const AttentionBench& bench);

}  // namespace alibi
