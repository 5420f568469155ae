#include "evaluate/generate/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/stop.h"
#include "device/libtorch.h"

namespace alibi {

torch::Tensor prefill(Gpt& model, std::span<const std::int32_t> tokens, std::int64_t chunk,
                      Cache& cache, torch::Device device) {
  ensure(!tokens.empty() && chunk > 0, "there is a prompt to read");
  const torch::NoGradGuard guard;
  ForwardOptions options;
  options.cache = &cache;
  for (std::int64_t first = 0;; first += chunk) {
    if (first > 0) leave_if_stopped("generate");
    const std::int64_t left = std::ssize(tokens) - first;
    const auto begin = tokens.begin() + first;
    std::vector<std::int64_t> ids(begin, begin + std::min(chunk, left));
    const torch::Tensor tokens_BT =
        torch::from_blob(ids.data(), {1, std::ssize(ids)}, torch::kLong).to(device);
    if (left <= chunk) return model->next_logits(tokens_BT, options).squeeze(0);
    model->hidden(tokens_BT, options);
  }
}

std::vector<std::int32_t> generate(Gpt& model, const std::vector<std::int32_t>& prompt,
                                   const GenerateOptions& options, torch::Device device,
                                   const std::function<bool(std::int32_t)>& on_token) {
  KeyValueCache cache(model->config().layers);
  std::vector<std::int32_t> made;
  const std::vector<std::int32_t> banned = options.banned();
  torch::Tensor logits_V = prefill(model, prompt, options.prefill_chunk, cache, device);
  while (std::ssize(made) < options.tokens) {
    const std::span<const float> logits(logits_V.data_ptr<float>(),
                                        static_cast<std::size_t>(logits_V.numel()));
    const std::int32_t next = sample(logits, options.sample, cache.length(), banned);
    if (next == options.end) break;
    made.push_back(next);
    if (!on_token(next) || std::ssize(made) == options.tokens) break;
    logits_V = prefill(model, {&next, 1}, 1, cache, device);
  }
  return made;
}

namespace {

struct Candidate {
  std::int32_t id;
  double weight;
};

// The first of the highest logit.
std::int32_t likeliest(std::span<const float> logits, std::span<const std::int32_t> banned) {
  std::int32_t best = -1;
  float highest = 0;
  for (std::int32_t id = 0; id < std::ssize(logits); ++id) {
    const float logit = logits[static_cast<std::size_t>(id)];
    if ((best >= 0 && !(logit > highest)) || std::ranges::find(banned, id) != banned.end())
      continue;
    best = id;
    highest = logit;
  }
  ensure(best >= 0, "some token may be drawn");
  return best;
}

// Candidates by falling logit (ties by id), cut to the k best.
std::vector<Candidate> best_first(std::span<const float> logits,
                                  std::span<const std::int32_t> banned, std::int64_t k) {
  std::vector<Candidate> all;
  for (std::int32_t id = 0; id < std::ssize(logits); ++id) {
    if (std::find(banned.begin(), banned.end(), id) != banned.end()) continue;
    all.push_back({id, logits[static_cast<std::size_t>(id)]});
  }
  ensure(!all.empty(), "some token may be drawn");
  const auto keep = k > 0 ? std::min<std::int64_t>(k, std::ssize(all)) : std::ssize(all);
  const auto higher = [](const Candidate& a, const Candidate& b) {
    return a.weight > b.weight || (a.weight == b.weight && a.id < b.id);
  };
  std::partial_sort(all.begin(), all.begin() + keep, all.end(), higher);
  all.resize(static_cast<std::size_t>(keep));
  return all;
}

}  // namespace

std::int32_t sample(std::span<const float> logits, const SampleOptions& options,
                    std::int64_t position, std::span<const std::int32_t> banned) {
  if (options.temperature == 0) return likeliest(logits, banned);
  std::vector<Candidate> candidates = best_first(logits, banned, options.top_k);
  const double highest = candidates.front().weight;
  double total = 0;
  for (Candidate& candidate : candidates) {
    candidate.weight = std::exp((candidate.weight - highest) / options.temperature);
    total += candidate.weight;
  }
  double kept = 0;
  std::size_t count = 0;
  while (count < candidates.size() && (count == 0 || kept < options.top_p * total))
    kept += candidates[count++].weight;
  double left =
      uniform(RandomKey{options.seed}.with("sample"), static_cast<std::uint64_t>(position)) * kept;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    left -= candidates[i].weight;
    if (left < 0) return candidates[i].id;
  }
  return candidates[count - 1].id;
}

}  // namespace alibi
