// A long text in memory that grows by one layer's keys and values: layer by layer, chunk by chunk,
// the residual stream, or both of reversible layers, changed in place. A chunk's attention needs
// earlier chunks of its own layer only, so after a layer nothing of it stays.
#include "base/error.h"
#include "config/key_pattern.h"
#include "device/libtorch.h"
#include "model/attention_tiled.h"
#include "model/gpt.h"
#include "model/layers.h"
#include "model/reversible.h"

namespace alibi {
namespace {

// Shorter texts gain nothing.
constexpr std::int64_t kLongText = 16'384;

// What is asked for of a layer beside its result, put together chunk by chunk.
class LayerRecord {
 public:
  // Where the chunk's visited blocks are counted; undefined: nobody asks.
  torch::Tensor add(const AttentionInputs& chunk, const ForwardOptions& options) {
    if (options.attention_inputs != nullptr) {
      q_.push_back(chunk.q_BHTD);
      k_.push_back(chunk.k_BGSD);
      v_.push_back(chunk.v_BGSD);
      options_ = chunk.options;
    }
    if (options.visited_blocks == nullptr) return {};
    const auto& q = chunk.q_BHTD;
    return visited_.emplace_back(
        torch::zeros({q.size(0), q.size(1), (q.size(2) + kTile - 1) / kTile}, torch::kInt32));
  }

  void give(const ForwardOptions& options) const {
    if (options.attention_inputs != nullptr) {
      AttentionInputs whole{torch::cat(q_, 2), torch::cat(k_, 2), torch::cat(v_, 2), options_};
      whole.options.visible.first_BT = options.document_start_BT;
      options.attention_inputs(whole);
    }
    if (options.visited_blocks != nullptr)
      options.visited_blocks->push_back(torch::cat(visited_, 2));
  }

 private:
  std::vector<torch::Tensor> q_, k_, v_, visited_;
  ScoreOptions options_;  // of the last chunk: its bias reaches over the whole text
};

}  // namespace

bool GptImpl::suits_layers(const torch::Tensor& tokens_BT, const ForwardOptions& options) const {
  if (tokens_BT.size(1) < kLongText || options.cache != nullptr || options.training) return false;
  if (!options.caches.empty() || hashes_keys(config_)) return false;
  if (at::GradMode::is_enabled() || attention_.kernel == "check") return false;
  return choose_attention(problem_of(tokens_BT, options), tokens_BT.device(), attention_.kernel)
             .tiles != nullptr;
}

torch::Tensor GptImpl::hidden_by_layers(const torch::Tensor& tokens_BT,
                                        const ForwardOptions& options, std::int64_t chunk) {
  const torch::NoGradGuard guard;
  const AttentionProblem problem = problem_of(tokens_BT, options);
  const AttentionKernel& kernel = choose_attention(problem, tokens_BT.device(), attention_.kernel);
  ensure(kernel.tiles != nullptr && chunk % 64 == 0, "tiled kernel, chunks of whole blocks");
  const std::int64_t length = tokens_BT.size(1);
  const auto stream = [&](torch::ScalarType type) {
    return torch::empty({tokens_BT.size(0), length, config_.width}, type);
  };
  // Attention reads the second and adds to the first, an MLP the other way round: the same stream,
  // but for reversible layers (model/reversible.h).
  const torch::Tensor x1_BTC = stream(config_.reversible ? torch::kFloat : type_);
  const torch::Tensor x2_BTC = config_.reversible ? stream(torch::kFloat) : x1_BTC;
  const auto for_chunks = [&](const auto& change) {
    for (std::int64_t first = 0; first < length; first += chunk) {
      const std::int64_t count = std::min(chunk, length - first);
      ForwardOptions here = options;
      if (options.document_start_BT.defined())
        here.document_start_BT = options.document_start_BT.narrow(1, first, count);
      change(x1_BTC.narrow(1, first, count), x2_BTC.narrow(1, first, count), first, here);
    }
  };
  for_chunks([&](const torch::Tensor& x1_BRC, const torch::Tensor& x2_BRC, std::int64_t first,
                 const ForwardOptions& here) {
    x1_BRC.copy_(embed(tokens_BT.narrow(1, first, x1_BRC.size(1)), {&first, 1}, here));
    if (config_.reversible) x2_BRC.copy_(x1_BRC);
  });
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
    PackedKeyValues keys(*kernel.tiles, problem);
    torch::Tensor terms_BHS;  // of the chunks so far
    LayerRecord record;
    const BlockImpl& block = *blocks_[static_cast<std::size_t>(layer)];
    for_chunks([&](const torch::Tensor& x1_BRC, const torch::Tensor& x2_BRC, std::int64_t first,
                   const ForwardOptions& here) {
      AttentionInputs inputs =
          heads_of(layer, block.norm_1->forward(typed(x2_BRC)), {&first, 1}, here);
      if (problem.bias.terms)
        inputs.options.bias.terms_BHS = terms_BHS =
            continue_terms(terms_BHS, inputs.options.bias.terms_BHS);
      const torch::Tensor mixed_BRC = join_heads(keys.attend(inputs, record.add(inputs, here)));
      if (config_.reversible) {
        x1_BRC.add_(block.out->forward(mixed_BRC));
        x2_BRC.add_(mlp_of(layer, {}, block.norm_2->forward(typed(x1_BRC)), 0, here));
      } else {
        x1_BRC.copy_(add_mlp(layer, block.out->add_to(x1_BRC, mixed_BRC), here));
      }
    });
    record.give(options);
  }
  const torch::Tensor hidden_BTC = config_.reversible ? stream(type_) : x1_BTC;
  for_chunks([&](const torch::Tensor& x1_BRC, const torch::Tensor& x2_BRC, std::int64_t first,
                 const ForwardOptions&) {
    const torch::Tensor x_BRC =
        config_.reversible ? typed(mean_of_streams(x1_BRC, x2_BRC)) : x1_BRC;
    hidden_BTC.narrow(1, first, x_BRC.size(1)).copy_(norm_->forward(x_BRC));
  });
  return hidden_BTC;
}

}  // namespace alibi
