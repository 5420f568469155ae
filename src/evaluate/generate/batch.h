// Many texts at once: a sequence enters as soon as another one has ended (continuous batching, Yu
// et al. 2022, Orca), so that the linear layers always see as many tokens as there are sequences.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "evaluate/generate/generate.h"

namespace alibi {

struct Request {
  std::int64_t number = 0;           // the caller's
  std::vector<std::int32_t> prompt;  // at least one token
  std::int64_t tokens = 0;           // at most this many new ones, at least one
  SampleOptions sample;
};

struct Completion {
  std::int64_t number = 0;
  std::vector<std::int32_t> tokens;
  bool ended = false;  // by an end-of-document token, which is not reported
};

struct BatchUse {
  std::int64_t prompt_tokens = 0, shared_tokens = 0;  // the latter were read by another sequence
  std::int64_t new_tokens = 0;
  // When pages held the most positions: how many, one that sequences share counted once, and the
  // pages that were allocated by then, in use or not.
  std::int64_t positions = 0, pages = 0;
  double unused() const;  // the share of the places of these pages that held nothing
};

// Works on up to `parallel` sequences at a time until `next` has none while none is in work; `done`
// gets them as they end, in any order. Prompts are read in pieces between steps, so that a long one
// does not hold up the others. Where the model makes tokens in stages (GptImpl::has_stages), what a
// sequence says depends on its request alone, whatever stands beside it; other models' products add
// up in another order for other numbers of sequences. `generate` says the same but for rounding,
// for it reads a prompt in other pieces. `stop` is asked at each step; what is not done by then is
// dropped.
BatchUse generate_batch(Gpt& model, const GenerateOptions& options, std::int64_t parallel,
                        torch::Device device, const std::function<std::optional<Request>()>& next,
                        const std::function<void(Completion)>& done,
                        const std::function<bool()>& stop);

}  // namespace alibi
