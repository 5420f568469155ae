// alibi bench step: whole training steps on random tokens, and where their time goes.
#pragma once

#include <functional>

#include "bench/record.h"
#include "config/config.h"
#include "device/tensor.h"

namespace alibi {

struct StepBench {
  Config config;  // resolved
  std::int64_t vocabulary = 8192;
  std::vector<std::int64_t> lengths;
  std::int64_t tokens = 4096;
  torch::Device device = torch::kCPU;
  Rounds rounds;
};

BenchRecord bench_step(const StepBench& bench);

}  // namespace alibi
