// The next positions of sequences with caches: few rows, for which the parallel regions, operators
// and memory of a layer's parts would cost more than their work. The same parts run as stages of
// one team of threads, on memory of one call.
#include <algorithm>

#include "base/error.h"
#include "config/key_pattern.h"
#include "device/libtorch.h"
#include "kernels/tile_gemm.h"
#include "model/attention_decode.h"
#include "model/gpt.h"
#include "model/layers.h"
#include "model/linear/spread.h"
#include "model/position/positions.h"
#include "model/stages.h"

namespace alibi {
namespace {

void add_norm(Stages& stages, const NormImpl& norm, const torch::Tensor& x,
              const torch::Tensor& y) {
  const std::int64_t width = x.size(-1);
  const std::uint16_t* const from = bf16_data(x);
  std::uint16_t* const to = bf16_data(y);
  stages.add(x.numel() / width, [=, row_norm = RowNorm(norm.parts())](std::int64_t row, void*) {
    row_norm(from + row * width, to + row * width);
  });
}

}  // namespace

// What does not change with a call.
bool GptImpl::has_stages() const {
  const ModelConfig& m = config_;
  const BlockImpl& block = *blocks_.front();
  const auto packed = [&](const Affine& layer) { return layer->packs_for(type_); };
  if (m.reversible || hashes_keys(m) || type_ != torch::kBFloat16 ||
      m.activation != Activation::kGelu || m.scalable_softmax || positions_->moves_heads() ||
      !RowNorm::takes(norm_->parts()) || !packed(block.qkv) || !packed(block.out) ||
      !packed(block.up) || !packed(block.down) || !packed(head_))
    return false;
  const AttentionProblem problem = problem_of(torch::empty({1, 1}, torch::kMeta), ForwardOptions());
  return !problem.bias.terms &&
         choose_attention(problem, torch::kCPU, attention_.kernel).tiles != nullptr;
}

bool GptImpl::suits_stages(const torch::Tensor& tokens_BT, const ForwardOptions& options) const {
  const bool by_cache = options.cache != nullptr && tokens_BT.size(0) == 1;
  if ((!by_cache && options.caches.empty()) ||
      !few_queries(tokens_BT.size(1), std::ranges::max(firsts_of(options)) + tokens_BT.size(1)) ||
      !tokens_BT.is_cpu() || at::GradMode::is_enabled() || options.training ||
      options.document_start_BT.defined() || options.visited_blocks != nullptr ||
      options.attention_inputs != nullptr || attention_.kernel == "check")
    return false;
  if (!has_stages_) has_stages_ = has_stages();
  return *has_stages_;
}

// The stages for B sequences of T new positions, and the memory that they work on. Used again while
// shapes and weights stay as they are: a token of one sequence takes as long as 100 operators.
class GptImpl::Step {
 public:
  Step(GptImpl& model, std::int64_t sequences, std::int64_t positions)
      : model_(model), sequences_(sequences), positions_(positions) {
    const ModelConfig& m = model.config_;
    const BlockImpl& first = *model.blocks_.front();
    x_BTC_ = rows(m.width);
    normed_BTC_ = rows(m.width);
    mixed_BTC_ = rows(m.width);
    hidden_BTC_ = rows(m.width);
    qkv_BTO_ = rows(first.qkv->weight_OI.size(0));
    h_BTF_ = rows(first.up->weight_OI.size(0));
    inputs_ = model.split_qkv(0, qkv_BTO_);
    attention_.reserve(model.blocks_.size());
    for (std::int64_t layer = 0; layer < m.layers; ++layer) add_layer(layer);
    add_norm(stages_, *model.norm_, x_BTC_, hidden_BTC_);
    hidden_stages_ = stages_.size();
    add_logits();
  }

  bool fits(std::int64_t sequences, std::int64_t positions) const {
    return sequences == sequences_ && positions == positions_ &&
           std::ranges::all_of(products_, [&](const auto& used) {
             return used.second == used.first->packed_for(x_BTC_);
           });
  }

  void set(const torch::Tensor& tokens_BT, const ForwardOptions& options) {
    const std::span<Cache* const> caches =
        options.caches.empty() ? std::span<Cache* const>(&options.cache, 1) : options.caches;
    const std::vector<std::int64_t> firsts = firsts_of(options);
    embed(tokens_BT, firsts, options);
    const std::int64_t keys = keys_reached(firsts, positions_, options);
    for (std::size_t layer = 0; layer < attention_.size(); ++layer)
      attention_[layer].set(
          model_.score_options(static_cast<std::int64_t>(layer), keys, {}, options), caches);
  }

  torch::Tensor hidden() {
    stages_.run(hidden_stages_, tile_gemm_release);
    return hidden_BTC_.clone();
  }

  torch::Tensor logits() {
    stages_.run(stages_.size(), tile_gemm_release);
    return logits_BV_;
  }

 private:
  torch::Tensor rows(std::int64_t width) const {
    return torch::empty({sequences_, positions_, width}, torch::TensorOptions(torch::kBFloat16));
  }

  void add_layer(std::int64_t layer) {
    const ModelConfig& m = model_.config_;
    BlockImpl& block = *model_.blocks_[static_cast<std::size_t>(layer)];
    const AttentionKernel& kernel = *DecodeCall::kernel_for(inputs_, model_.attention_.kernel);
    const DecodeCall& call = attention_.emplace_back(
        kernel, inputs_, layer,
        mixed_BTC_.view({sequences_, positions_, m.heads, head_width(m)}).transpose(1, 2));
    add_norm(stages_, *block.norm_1, x_BTC_, normed_BTC_);
    add_product(*block.qkv, normed_BTC_, qkv_BTO_, Store::kPlain);
    stages_.add(call.items(), [&call](std::int64_t i, void*) { call.run(i); });
    add_product(*block.out, mixed_BTC_, x_BTC_, Store::kSum);
    add_norm(stages_, *block.norm_2, x_BTC_, normed_BTC_);
    add_product(*block.up, normed_BTC_, h_BTF_, Store::kGelu);
    add_product(*block.down, h_BTF_, x_BTC_, Store::kSum);
  }

  // y = x w^T + b, y += that with kSum, or its GELU.
  enum class Store { kPlain, kSum, kGelu };
  void add_product(AffineImpl& layer, const torch::Tensor& x, const torch::Tensor& y, Store store) {
    add_items(layer, x,
              {.x = bf16_data(x),
               .y = bf16_data(y),
               .count = x.numel() / x.size(-1),
               .base = store == Store::kSum ? bf16_data(y) : nullptr,
               .gelu = store == Store::kGelu});
  }

  void add_items(AffineImpl& layer, const torch::Tensor& x, const LinearProducts::Rows& rows) {
    const SharedProducts products = layer.packed_for(x);
    const ProductItems items = products->forward_items(rows, layer.bias_O);
    stages_.add(items.count(), [items](std::int64_t i, void* scratch) { items.run(i, scratch); });
    products_.emplace_back(&layer, products);
  }

  // Of each sequence's last position.
  void add_logits() {
    const std::int64_t width = hidden_BTC_.size(2);
    last_BC_ = torch::empty({sequences_, width}, hidden_BTC_.options());
    logits_BV_ = torch::empty({sequences_, model_.vocabulary_});
    const std::uint16_t* const from = bf16_data(hidden_BTC_) + (positions_ - 1) * width;
    std::uint16_t* const to = bf16_data(last_BC_);
    stages_.add(sequences_, [=, apart = positions_ * width](std::int64_t b, void*) {
      std::copy_n(from + b * apart, width, to + b * width);
    });
    add_items(*model_.head_, last_BC_,
              {.x = to, .y = nullptr, .count = sequences_, .sums = logits_BV_.data_ptr<float>()});
  }

  void embed(const torch::Tensor& tokens_BT, std::span<const std::int64_t> firsts,
             const ForwardOptions& options) {
    const torch::Tensor& table_VC = model_.embedding_VC_;
    if (model_.positions_->moves_embeddings() || model_.embedding_norm_ ||
        table_VC.scalar_type() != torch::kFloat || !table_VC.is_contiguous()) {
      x_BTC_.copy_(model_.embed(tokens_BT, firsts, options));
      return;
    }
    const torch::Tensor ids_BT = tokens_BT.contiguous();
    const std::int64_t* const ids = ids_BT.data_ptr<std::int64_t>();
    for (std::int64_t row = 0; row < sequences_ * positions_; ++row) {
      const std::int64_t width = table_VC.size(1);
      ensure(ids[row] >= 0 && ids[row] < table_VC.size(0), "a token of the vocabulary");
      std::copy_n(table_VC.data_ptr<float>() + ids[row] * width, width,
                  x_BTC_.data_ptr<at::BFloat16>() + row * width);
    }
  }

  GptImpl& model_;
  std::int64_t sequences_, positions_;
  torch::Tensor x_BTC_, normed_BTC_, qkv_BTO_, mixed_BTC_, h_BTF_, hidden_BTC_, last_BC_,
      logits_BV_;
  AttentionInputs inputs_;
  std::vector<DecodeCall> attention_;  // by layer
  std::vector<std::pair<AffineImpl*, SharedProducts>> products_;
  Stages stages_{product_scratch_bytes()};
  std::size_t hidden_stages_ = 0;  // the first so many
};

GptImpl::Step& GptImpl::prepare_step(const torch::Tensor& tokens_BT,
                                     const ForwardOptions& options) {
  reserve(options, tokens_BT.size(1));
  std::shared_ptr<Step>& step = tokens_BT.size(1) == 1 ? step_ : prompt_step_;
  if (!step || !step->fits(tokens_BT.size(0), tokens_BT.size(1)))
    step = std::make_shared<Step>(*this, tokens_BT.size(0), tokens_BT.size(1));
  step->set(tokens_BT, options);
  return *step;
}

torch::Tensor GptImpl::hidden_by_stages(const torch::Tensor& tokens_BT,
                                        const ForwardOptions& options) {
  const torch::Tensor hidden_BTC = prepare_step(tokens_BT, options).hidden();
  advance(options, tokens_BT.size(1));
  return hidden_BTC;
}

torch::Tensor GptImpl::next_logits(const torch::Tensor& tokens_BT, const ForwardOptions& options) {
  const torch::NoGradGuard guard;
  if (!suits_stages(tokens_BT, options))
    return logits_of_rows(hidden(tokens_BT, options).select(1, tokens_BT.size(1) - 1));
  const torch::Tensor logits_BV = prepare_step(tokens_BT, options).logits();
  advance(options, tokens_BT.size(1));
  return logits_BV;
}

torch::Tensor GptImpl::logits_of_rows(const torch::Tensor& hidden_NC) {
  const std::int64_t count = hidden_NC.size(0);
  if (const SharedProducts products = head_->packed_for(hidden_NC); products && count > 0) {
    const torch::Tensor x_NC = hidden_NC.contiguous(),
                        logits_NV = torch::empty({count, vocabulary_});
    const ProductItems items = products->forward_items(
        {.x = bf16_data(x_NC), .y = nullptr, .count = count, .sums = logits_NV.data_ptr<float>()},
        {});
    spread(items.count(), product_scratch_bytes(), tile_gemm_release,
           [&](std::int64_t i, void* scratch) { items.run(i, scratch); });
    return logits_NV;
  }
  // Always in products of so many rows: with their number LibTorch's products change their order of
  // addition.
  constexpr std::int64_t kRows = 8;
  const std::int64_t missing = (kRows - count % kRows) % kRows;
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& rows : at::constant_pad_nd(hidden_NC, {0, 0, 0, missing}).split(kRows))
    parts.push_back(logits(rows).to(torch::kCPU, torch::kFloat));
  return torch::cat(parts).narrow(0, 0, count);
}

}  // namespace alibi
