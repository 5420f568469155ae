#include "evaluate/generate/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "device/libtorch.h"

namespace alibi {

torch::Tensor prefill(Gpt& model, const std::vector<std::int32_t>& tokens, std::int64_t chunk,
                      Cache& cache, torch::Device device) {
  ensure(!tokens.empty() && chunk > 0, "there is a prompt to read");
  const torch::NoGradGuard guard;
  ForwardOptions options;
  options.cache = &cache;
  torch::Tensor last_C;
  for (std::int64_t first = 0; first < std::ssize(tokens); first += chunk) {
    const std::int64_t count = std::min(chunk, std::ssize(tokens) - first);
    std::vector<std::int64_t> ids(tokens.begin() + first, tokens.begin() + first + count);
    const torch::Tensor tokens_BT = torch::tensor(ids, torch::kLong).unsqueeze(0).to(device);
    last_C = model->hidden(tokens_BT, options).select(1, count - 1).squeeze(0);
  }
  return model->logits(last_C).to(torch::kFloat);
}

std::vector<std::int32_t> generate(Gpt& model, const std::vector<std::int32_t>& prompt,
                                   const GenerateOptions& options, torch::Device device,
                                   const std::function<bool(std::int32_t)>& on_token) {
  KeyValueCache cache(model->config().layers);
  std::vector<std::int32_t> made;
  std::vector<std::int32_t> banned = options.never;
  if (!options.stop_at_end) banned.push_back(options.end);
  torch::Tensor logits_V = prefill(model, prompt, options.prefill_chunk, cache, device);
  while (std::ssize(made) < options.tokens) {
    const torch::Tensor host = logits_V.to(torch::kCPU).contiguous();
    const std::span<const float> logits(host.data_ptr<float>(),
                                        static_cast<std::size_t>(host.numel()));
    const std::int32_t next = sample(logits, options.sample, cache.length(), banned);
    if (next == options.end) break;
    made.push_back(next);
    if (!on_token(next) || std::ssize(made) == options.tokens) break;
    logits_V = prefill(model, {next}, 1, cache, device);
  }
  return made;
}

namespace {

struct Candidate {
  std::int32_t id;
  double weight;
};

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
  const bool greedy = options.temperature == 0;
  std::vector<Candidate> candidates = best_first(logits, banned, greedy ? 1 : options.top_k);
  if (greedy) return candidates.front().id;
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
