#include "generate/generate.h"

#include <algorithm>

#include "base/error.h"
#include "device/libtorch.h"

namespace alibi {

torch::Tensor prefill(Gpt& model, const std::vector<std::int32_t>& tokens, std::int64_t chunk,
                      KeyValueCache& cache, torch::Device device) {
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

}  // namespace alibi
