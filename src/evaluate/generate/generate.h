// Text token by token with a key/value cache; with ALiBi as far as memory goes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/random.h"
#include "model/gpt.h"
#include "text/tokenizer.h"

namespace alibi {

// What a user may ask for.
inline constexpr std::int64_t kMostNewTokens = 1 << 24;
inline constexpr double kHighestTemperature = 100;

struct SampleOptions {
  double temperature = 1.0;  // 0: the most likely token
  std::int64_t top_k = 0;    // 0: all
  double top_p = 1.0;        // smallest set of tokens with at least this probability
  std::uint64_t seed = 0;
};

// One token: the index drawn from softmax(logits / temperature) after top-k, then
// top-p; a function of (seed, position). Tokens in `banned` never come.
std::int32_t sample(std::span<const float> logits, const SampleOptions& options,
                    std::int64_t position, std::span<const std::int32_t> banned = {});

struct GenerateOptions {
  SampleOptions sample;
  std::int64_t tokens = 200;  // at most this many new ones
  bool stop_at_end = true;    // an end-of-document token ends the text; it is not reported
  std::int32_t end = Tokenizer::kEnd;
  // Never generated: tokens that follow nothing in training.
  std::vector<std::int32_t> never = {Tokenizer::kUnknown, Tokenizer::kBegin};
  std::int64_t prefill_chunk = 1024;  // prompt tokens per forward pass

  std::vector<std::int32_t> banned() const {
    std::vector<std::int32_t> all = never;
    if (!stop_at_end) all.push_back(end);
    return all;
  }
};

// Continues `prompt` (at least one token) and calls `on_token` with each new id; false stops early.
// Returns the new ids. Learned positions throw Error past their table.
std::vector<std::int32_t> generate(Gpt& model, const std::vector<std::int32_t>& prompt,
                                   const GenerateOptions& options, torch::Device device,
                                   const std::function<bool(std::int32_t)>& on_token);

// Logits (V) fp32, on the CPU, of the token after `tokens`, read into `cache` in chunks of `chunk`;
// valid until the model is asked for the next ones. A stop between two chunks throws stopped_error.
torch::Tensor prefill(Gpt& model, std::span<const std::int32_t> tokens, std::int64_t chunk,
                      Cache& cache, torch::Device device);

}  // namespace alibi
