// A pre-norm decoder (GPT): embedding, blocks of attention and MLP, final norm, output layer.
//
//   x = embed(tokens) [+ positions];   x += out(attention(qkv(norm(x))));   x +=
//   down(gelu(up(norm(x))))
//
// Letters: B sequences, T positions, S keys, H heads, G key/value heads, D head width, C width, V
// vocabulary, N rows.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "config/config.h"
#include "device/tensor.h"
#include "model/attention.h"
#include "model/cache.h"
#include "model/module.h"
#include "model/position/stretch.h"

namespace alibi {

class HashedKeys;   // model/hashed_keys.h
class Positions;    // model/position/positions.h
struct AffineImpl;  // model/layers.h
struct BlockImpl;   // model/layers.h
struct NormImpl;    // model/layers.h

// What a forward pass is given beside tokens.
struct ForwardOptions : PositionChanges {
  Cache* cache = nullptr;  // continues from its length when given
  // Instead: one for each sequence of the batch, which go on from lengths of their own. No graph.
  std::span<Cache* const> caches = {};
  bool training = false;  // dropout on, masks drawn from `random`
  RandomKey random;
  torch::Tensor document_start_BT;  // undefined: attend across documents
  // If given, gets for each layer the key blocks visited by each query block, int32 (B, H, blocks);
  // kNotCounted where the layer's kernel counts none (GptImpl::uncounted_kernel).
  std::vector<torch::Tensor>* visited_blocks = nullptr;
  // If given, is called with those of each layer, in their order; of long texts without values.
  std::function<void(const AttentionInputs&)> attention_inputs = {};
  // Blocks keep their input only (model/layers.h); reversible layers keep nothing.
  bool recompute = false;
  std::int64_t mlp_chunk_rows = 0;  // rows of an MLP at a time, recomputed for gradients; 0: all
};

ForwardOptions training_options(const Config& config);  // without `random` and documents

// What the attention kernels of a batch depend on beside the model.
struct BatchForm {
  std::int64_t sequences = 1, length = 1;
  bool training = false;
  bool documents = false;  // of several in a sequence, which do not see each other
};

class GptImpl : public Module {
 public:
  // Weights are zero until `initialize` or loading fills them. `type` is that of activations.
  GptImpl(const ModelConfig& model, std::int64_t vocabulary, torch::ScalarType type,
          AttentionConfig attention = {}, LinearLayers linear = LinearLayers::kPacked);
  ~GptImpl();

  // Draws every weight from (seed, its name): the same for any thread count and, where names and
  // shapes agree, for any position method.
  void initialize(std::uint64_t seed, double standard_deviation);

  // (B, T) int64 -> (B, T, C) after the final norm, in the activation type.
  torch::Tensor hidden(const torch::Tensor& tokens_BT, const ForwardOptions& options = {});
  // The same without a graph or cache, one layer at a time over chunks of positions (a multiple of
  // 64): beside the result only one layer's packed keys and values grow with the length. `hidden`
  // comes here by itself for long texts. Needs a tiled attention kernel.
  torch::Tensor hidden_by_layers(const torch::Tensor& tokens_BT, const ForwardOptions& options,
                                 std::int64_t chunk);
  torch::Tensor logits(const torch::Tensor& hidden);  // (..., C) -> (..., V) fp32
  // Logits (B, V) fp32 on the CPU of the tokens after (B, T). A sequence's do not depend on the
  // others: where two tokens are nearly as likely, the order of a sum decides how a text goes on.
  // Of a bf16 model they are sums of bf16 products, where these are packed: as in training. Their
  // memory may be used again by the next call.
  torch::Tensor next_logits(const torch::Tensor& tokens_BT, const ForwardOptions& options);
  const torch::Tensor& head_VC() const;  // the output layer's weights, fp32

  const ModelConfig& config() const { return config_; }
  std::int64_t vocabulary() const { return vocabulary_; }
  std::int64_t parameter_count() const;
  std::vector<double> slopes() const;  // as trained by now; empty without linear biases
  // Name of a layer's attention kernel where it does not count the key blocks it visits; else "".
  std::string uncounted_kernel(std::int64_t layer, torch::Device device) const;
  // Name of the attention kernel a batch of this shape would run on; of several, each with its
  // layers. Throws Error where the one that is named in the config does not suit a layer.
  std::string attention_kernel(const BatchForm& batch, torch::Device device) const;
  // Of a CUDA device: why the first layer that does not run on one of its own kernels does not; "":
  // all do.
  std::string why_no_device_kernel(const BatchForm& batch, torch::Device device) const;

 private:
  torch::Tensor typed(const torch::Tensor& x) const;  // in the activation type
  using Places = std::span<const std::int64_t>;  // of first positions: one, or of each sequence
  static std::vector<std::int64_t> firsts_of(const ForwardOptions& options);
  static void reserve(const ForwardOptions& options, std::int64_t positions);
  static void advance(const ForwardOptions& options, std::int64_t positions);
  torch::Tensor embed(const torch::Tensor& tokens_BT, Places firsts, const ForwardOptions& options);
  // x + attention(norm(x)), x + mlp(norm(x))
  torch::Tensor add_attention(std::int64_t layer, const torch::Tensor& x_BTC,
                              const ForwardOptions& options);
  torch::Tensor add_mlp(std::int64_t layer, const torch::Tensor& x_BTC,
                        const ForwardOptions& options);
  // The same with `base` in place of x (undefined: nothing) and the norm taken; of the MLP for rows
  // `first` and on.
  torch::Tensor attention_of(std::int64_t layer, const torch::Tensor& base_BTC,
                             const torch::Tensor& normed_BTC, const ForwardOptions& options);
  torch::Tensor mlp_of(std::int64_t layer, const torch::Tensor& base, const torch::Tensor& normed,
                       std::int64_t first, const ForwardOptions& options) const;
  torch::Tensor blocks(torch::Tensor x_BTC, const ForwardOptions& options);
  torch::Tensor reversible_blocks(const torch::Tensor& x_BTC, const ForwardOptions& options);
  // Queries, keys and values of positions from `firsts` on, from normed x.
  AttentionInputs heads_of(std::int64_t layer, const torch::Tensor& normed_BTC, Places firsts,
                           const ForwardOptions& options);
  AttentionInputs split_qkv(std::int64_t layer, const torch::Tensor& qkv_BTO) const;
  // Gives them their places, and what shapes their scores.
  void place(AttentionInputs& inputs, std::int64_t layer, const torch::Tensor& normed_BTC,
             Places firsts, const ForwardOptions& options) const;
  void infuse(AttentionInputs& inputs, std::int64_t layer, const torch::Tensor& normed_BTC,
              Places firsts) const;
  const HashedKeys* hashed(std::int64_t layer) const {  // null: its keys are not hashed
    return hashed_[static_cast<std::size_t>(layer)].get();
  }
  torch::Tensor mixed_heads(std::int64_t layer, const torch::Tensor& normed_BTC,
                            const ForwardOptions& options);      // (B, T, C)
  static torch::Tensor join_heads(const torch::Tensor& x_BHTD);  // (B, T, C)
  torch::Tensor count_blocks(const AttentionInputs& inputs,
                             std::vector<torch::Tensor>& visited) const;
  AttentionProblem problem_of(const torch::Tensor& tokens_BT, const ForwardOptions& options,
                              std::int64_t layer = 0) const;
  std::vector<AttentionProblem> problems_of_layers(const BatchForm& batch) const;
  // For few new positions of sequences with caches (model/gpt_decode.cc).
  class Step;
  bool has_stages() const;
  bool suits_stages(const torch::Tensor& tokens_BT, const ForwardOptions& options) const;
  Step& prepare_step(const torch::Tensor& tokens_BT, const ForwardOptions& options);
  torch::Tensor hidden_by_stages(const torch::Tensor& tokens_BT, const ForwardOptions& options);
  torch::Tensor logits_of_rows(const torch::Tensor& hidden_NC);
  bool suits_layers(const torch::Tensor& tokens_BT, const ForwardOptions& options) const;
  // The keys that a query may read at most: a rolling cache holds no more than its window, and
  // counts distances by places in it.
  static std::int64_t keys_reached(Places firsts, std::int64_t positions,
                                   const ForwardOptions& options);
  ScoreOptions score_options(std::int64_t layer, std::int64_t keys, const torch::Tensor& normed_BTC,
                             const ForwardOptions& options) const;
  torch::Tensor scale_by_length(std::int64_t layer, const torch::Tensor& q_BHTD, Places firsts,
                                const ForwardOptions& options) const;

  std::shared_ptr<const KeyRules> rules_of(std::int64_t layer, std::int64_t keys) const;

  ModelConfig config_;
  std::int64_t vocabulary_;
  torch::ScalarType type_;
  AttentionConfig attention_;
  torch::Tensor embedding_VC_, head_VC_;
  std::shared_ptr<AffineImpl> head_;  // of head_VC()
  std::unique_ptr<Positions> positions_;
  std::shared_ptr<NormImpl> embedding_norm_, norm_;
  std::vector<std::shared_ptr<BlockImpl>> blocks_;
  std::vector<std::unique_ptr<const HashedKeys>> hashed_;  // by layer
  std::vector<torch::Tensor> softmax_scales_H_;  // by layer; empty without model.scalable_softmax
  mutable std::optional<bool> has_stages_;
  std::shared_ptr<Step> step_, prompt_step_;  // the last ones: the next is often alike
  mutable std::vector<std::shared_ptr<const KeyRules>> rules_;  // by layer; grow with the text
};
using Gpt = std::shared_ptr<GptImpl>;

}  // namespace alibi
