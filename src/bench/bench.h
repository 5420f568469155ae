// What `alibi bench` measures: the record of each benchmark is a table and the same figures as
// JSON.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/cases.h"
#include "bench/record.h"
#include "config/config.h"
#include "device/tensor.h"
#include "text/tokenizer.h"

namespace alibi {

// alibi bench attention: forward and forward + backward of kernels side by side with LibTorch's own
// attention under an ALiBi mask.
struct AttentionBench {
  std::vector<AttentionCase> cases;
  std::vector<std::string> kernels;  // names of attention_kernels(), or "auto"
  SkipRule skip = SkipRule::kEpsilon;
  bool with_libtorch = true;
  torch::Device device = torch::kCPU;
  Rounds rounds;
  // What a case is measured on.
  std::function<AttentionInputs(const AttentionCase&)> inputs;
  // Which keys are seen at a length; null, or null for it: all. The first kernel is then measured
  // without it, too.
  std::function<std::shared_ptr<const KeyRules>(std::int64_t length)> rules;
  // What hashes keys, timed with the kernels that see them so; null: they are not hashed.
  std::shared_ptr<const HashedKeys> hashed;
};

BenchRecord bench_attention(const AttentionBench& bench);

// alibi bench gemm: the matrix products of one model's training step, each at its own shape.
struct GemmBench {
  ModelConfig model;
  std::int64_t vocabulary = 8192;
  std::int64_t tokens = 4096;
  torch::ScalarType type = torch::kBFloat16;
  Rounds rounds;
};

// Each product forward (x w^T), its input's gradient (g w) and its weight's (g^T x), as LibTorch
// computes them, and on packed weights where a step does so.
BenchRecord bench_gemm(const GemmBench& bench);

// Operations per second over all of them, each as often as in a step: what a step is compared with.
double model_gemm_rate(const GemmBench& bench);

// alibi bench step: whole training steps on random tokens, and where their time goes.
struct StepBench {
  Config config;  // resolved
  std::int64_t vocabulary = 8192;
  std::vector<std::int64_t> lengths;
  std::int64_t tokens = 4096;
  torch::Device device = torch::kCPU;
  Rounds rounds;
};

BenchRecord bench_step(const StepBench& bench);

// alibi bench tokenize: text to token ids, as prepare does it. All documents of `files`, on 1 and
// on `threads` threads.
BenchRecord bench_tokenize(const std::vector<std::string>& files, const Tokenizer& tokenizer,
                           int threads, const Rounds& rounds);

// alibi bench attention --traffic: how many numbers the two textbook algorithms move between fast
// and slow memory, counted as they run. One head of `head_width` for each length and each size M of
// fast memory, in numbers.
BenchRecord count_traffic(std::int64_t head_width, const std::vector<std::int64_t>& lengths,
                          const std::vector<std::int64_t>& fast_numbers);

}  // namespace alibi
