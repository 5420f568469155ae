// What a training run will take of memory, before it takes it, and the micro batch that fits.
#pragma once

#include <cstdint>
#include <string>

#include "config/config.h"
#include "device/memory.h"
#include "device/tensor.h"
#include "distributed/world.h"

namespace alibi {

// Bytes, each as it is at the fullest moment of a step.
struct MemoryParts {
  std::int64_t program = 0;      // LibTorch and the program, before the first tensor
  std::int64_t weights = 0;      // fp32
  std::int64_t gradients = 0;    // fp32
  std::int64_t optimizer = 0;    // its state (train/optimizer/optimizer.h)
  std::int64_t saving = 0;       // the copy that a save in the background is written from
  std::int64_t packed = 0;       // bf16 weights as the products read them
  std::int64_t activations = 0;  // of one micro batch, kept for backward; or an update by Muon
  std::int64_t loss = 0;         // a chunk of logits, and the gradients of hidden states and head
  std::int64_t exchange = 0;     // sums of lanes, and a bucket on its way to other ranks
  std::int64_t graph = 0;        // what is not in a graph's own memory, beside it
  std::int64_t total() const {
    return program + weights + gradients + optimizer + saving + packed + activations + loss +
           exchange + graph;
  }
  // What a run may be expected to stay below: of some hundred short ones (tests/bench/RESULTS.md)
  // none took more than 1.125 times the estimate, long ones up to 1.15 times, pages of files, which
  // the system can take back, among it. Crossing a control group's limit is death, not an error.
  std::int64_t bound() const { return total() + total() / 8; }
};

// `config` is resolved, but for a precision of auto, which counts as fp32. Of the first of `ranks`,
// which takes the most.
MemoryParts estimate_memory(const Config& config, std::int64_t vocabulary,
                            std::int64_t micro_batch_tokens, int ranks = 1);

// "weights 10.2 MiB, gradients ..., activations 1.2 GiB": every part, for messages.
std::string describe_parts(const MemoryParts& parts);

// The largest micro batch (tokens; whole sequences that divide a step) up to the configured one
// whose bound, without graphs, is at most `limit`; 0 where not even one sequence fits.
std::int64_t fitting_micro_batch(const Config& config, std::int64_t vocabulary, std::int64_t limit,
                                 int ranks = 1);

// runtime.memory_limit_bytes, or what one of `ranks` processes on this machine may take of
// `device`.
MemoryLimit training_memory_limit(const Config& config, torch::Device device, int ranks = 1);

// The same within training_memory_limit(). Warns where it is smaller than configured; throws Error
// when not even one sequence fits.
std::int64_t plan_micro_batch(const Config& config, std::int64_t vocabulary, torch::Device device,
                              const World& world);

}  // namespace alibi
