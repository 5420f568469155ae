// A long text in memory that grows by one layer's keys and values: layer by layer, chunk by chunk,
// the residual stream changed in place. A chunk's attention needs earlier chunks of its own layer
// only, so after a layer nothing of it stays.
#include "base/error.h"
#include "device/libtorch.h"
#include "model/attention_tiled.h"
#include "model/gpt.h"
#include "model/layers.h"

namespace alibi {
namespace {

// Shorter texts gain nothing.
constexpr std::int64_t kLongText = 16'384;

}  // namespace

bool GptImpl::suits_layers(const torch::Tensor& tokens_BT, const ForwardOptions& options) const {
  if (tokens_BT.size(1) < kLongText || options.cache != nullptr || options.training) return false;
  if (!options.caches.empty()) return false;
  if (options.visited_blocks != nullptr || options.attention_inputs != nullptr) return false;
  if (at::GradMode::is_enabled() || attention_.kernel == "check") return false;
  return choose_attention(problem_of(tokens_BT, options), tokens_BT.device(), attention_.kernel)
             .tiles != nullptr;
}

bool GptImpl::counts_blocks(torch::Device device) const {
  const torch::Tensor tokens_BT = torch::empty({1, 64}, torch::kMeta);
  return choose_attention(problem_of(tokens_BT, {}), device, attention_.kernel).tiles != nullptr;
}

torch::Tensor GptImpl::hidden_by_layers(const torch::Tensor& tokens_BT,
                                        const ForwardOptions& options, std::int64_t chunk) {
  const torch::NoGradGuard guard;
  const AttentionProblem problem = problem_of(tokens_BT, options);
  const AttentionKernel& kernel = choose_attention(problem, tokens_BT.device(), attention_.kernel);
  ensure(kernel.tiles != nullptr && chunk % 64 == 0, "tiled kernel, chunks of whole blocks");
  const std::int64_t length = tokens_BT.size(1);
  torch::Tensor x_BTC = torch::empty({tokens_BT.size(0), length, config_.width}, type_);
  const auto for_chunks = [&](const auto& change) {
    for (std::int64_t first = 0; first < length; first += chunk) {
      const std::int64_t count = std::min(chunk, length - first);
      torch::Tensor part_BRC = x_BTC.narrow(1, first, count);
      ForwardOptions here = options;
      if (options.document_start_BT.defined())
        here.document_start_BT = options.document_start_BT.narrow(1, first, count);
      change(part_BRC, first, here);
    }
  };
  for_chunks([&](torch::Tensor& part_BRC, std::int64_t first, const ForwardOptions& here) {
    part_BRC.copy_(embed(tokens_BT.narrow(1, first, part_BRC.size(1)), first, here));
  });
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
    PackedKeyValues keys(*kernel.tiles, problem);
    torch::Tensor terms_BHS;  // of the chunks so far
    const BlockImpl& block = *blocks_[static_cast<std::size_t>(layer)];
    for_chunks([&](torch::Tensor& part_BRC, std::int64_t first, const ForwardOptions& here) {
      const torch::Tensor normed_BRC = block.norm_1->forward(part_BRC);
      AttentionInputs inputs = heads_of(layer, normed_BRC, first, here);
      if (problem.bias.terms)
        inputs.options.bias.terms_BHS = terms_BHS =
            continue_terms(terms_BHS, inputs.options.bias.terms_BHS);
      const torch::Tensor mixed_BHRD = keys.attend(inputs);
      part_BRC.copy_(add_mlp(layer, block.out->add_to(part_BRC, join_heads(mixed_BHRD)), here));
    });
  }
  for_chunks([&](torch::Tensor& part_BRC, std::int64_t, const ForwardOptions&) {
    part_BRC.copy_(norm_->forward(part_BRC));
  });
  return x_BTC;
}

}  // namespace alibi
