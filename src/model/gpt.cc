#include "model/gpt.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/strings.h"
#include "config/key_pattern.h"
#include "device/exact_type.h"
#include "device/libtorch.h"
#include "model/attention_decode.h"
#include "model/attention_rows.h"
#include "model/attention_tiled.h"
#include "model/hashed_keys.h"
#include "model/layers.h"
#include "model/position/positions.h"
#include "model/reversible.h"
#include "model/shapes.h"

namespace alibi {
namespace {

// Positions of a chunk when a long text is read layer by layer.
constexpr std::int64_t kLongChunk = 8192;
// Of scalable softmax: of its paper's figure 1, 1 / log 10.
constexpr double kFirstSoftmaxScale = 0.43;

// (B, T, heads * D) -> (B, heads, T, D)
torch::Tensor split_heads(const torch::Tensor& x_BTC, std::int64_t heads) {
  return x_BTC.view({x_BTC.size(0), x_BTC.size(1), heads, x_BTC.size(2) / heads}).transpose(1, 2);
}

bool recomputes(const ForwardOptions& options) {
  return options.recompute && at::GradMode::is_enabled();
}

// f(rows of sequences, the place of their first position) of all sequences; f returns its rows
// themselves where a method does nothing there.
template <class F>
torch::Tensor at_places(const torch::Tensor& x_BX, std::span<const std::int64_t> firsts,
                        const F& f) {
  const bool all_as_one = std::ranges::all_of(firsts, [&](auto one) { return one == firsts[0]; });
  const torch::Tensor y_BX = f(x_BX, firsts[0]);
  if (all_as_one || y_BX.is_same(x_BX)) return y_BX;
  std::vector<torch::Tensor> rows;
  for (const torch::Tensor& row : x_BX.split(1)) rows.push_back(f(row, firsts[rows.size()]));
  return torch::cat(rows);
}

std::vector<std::int64_t> lengths_of(std::span<Cache* const> caches) {
  std::vector<std::int64_t> lengths;
  for (const Cache* const cache : caches) lengths.push_back(cache->length());
  return lengths;
}

}  // namespace

ForwardOptions training_options(const Config& config) {
  ForwardOptions options;
  options.training = true;
  options.recompute = recomputes(config);
  options.mlp_chunk_rows = config.runtime.mlp_chunk_rows;
  return options;
}

GptImpl::GptImpl(const ModelConfig& model, std::int64_t vocabulary, torch::ScalarType type,
                 AttentionConfig attention, LinearLayers linear)
    : Module(parameter_shapes(model, vocabulary)),
      config_(model),
      vocabulary_(vocabulary),
      type_(type),
      attention_(std::move(attention)),
      embedding_VC_(parameter("embedding")),
      head_VC_(parameter("head")) {
  const ModelConfig& m = config_;
  positions_ = make_positions(m, [this](const std::string& name, const torch::Tensor& value) {
    const torch::NoGradGuard guard;
    const torch::Tensor mine = parameter(name);
    ensure(mine.defined() && mine.sizes() == value.sizes(), "a method's parameters are in its row");
    return mine.copy_(value);
  });
  const auto affine = [&](const std::string& name) {
    return std::make_shared<AffineImpl>(parameter(name + ".weight"), parameter(name + ".bias"),
                                        linear != LinearLayers::kLibtorch);
  };
  const auto norm = [&](const std::string& name) {
    return std::make_shared<NormImpl>(
        NormImpl{parameter(name + ".weight"), parameter(name + ".bias"), m.norm_epsilon});
  };
  if (m.embedding_norm) embedding_norm_ = norm("embedding_norm");
  for (std::int64_t i = 0; i < m.layers; ++i) {
    const std::string block = cat("block_", i, ".");
    const Affine projection = affine(block + (hashes_keys(m, i) ? "qv" : "qkv"));
    blocks_.push_back(std::make_shared<BlockImpl>(
        BlockImpl{norm(block + "norm_1"), norm(block + "norm_2"), projection, affine(block + "out"),
                  affine(block + "up"), affine(block + "down")}));
    rules_.push_back(i > 0 && same_rules(m, i - 1, i) ? rules_.back() : key_rules(m, i, 0));
    hashed_.push_back(hashed_keys(m, i));
    if (m.scalable_softmax) {
      const torch::NoGradGuard guard;
      softmax_scales_H_.push_back(parameter(softmax_scale_name(i)).fill_(kFirstSoftmaxScale));
    }
  }
  norm_ = norm("norm");
  head_ = std::make_shared<AffineImpl>(head_VC(), torch::Tensor());
}

GptImpl::~GptImpl() = default;

void GptImpl::initialize(std::uint64_t seed, double standard_deviation) {
  const torch::NoGradGuard guard;
  const double residual = standard_deviation / std::sqrt(2.0 * static_cast<double>(config_.layers));
  for (auto& parameter : named_parameters()) {
    torch::Tensor& value = parameter.value();
    if (value.dim() < 2) continue;  // norms, biases and slopes start at their constants
    const std::string& name = parameter.key();
    const bool ends_branch = name.ends_with(".out.weight") || name.ends_with(".down.weight");
    torch::Tensor drawn = torch::empty(value.sizes(), torch::kFloat);
    fill_normal(RandomKey{seed}.with("initialize").with(name),
                ends_branch ? residual : standard_deviation,
                {drawn.data_ptr<float>(), static_cast<std::size_t>(drawn.numel())});
    value.copy_(drawn);
  }
}

torch::Tensor GptImpl::hidden(const torch::Tensor& tokens_BT, const ForwardOptions& options) {
  if (suits_layers(tokens_BT, options)) return hidden_by_layers(tokens_BT, options, kLongChunk);
  if (suits_stages(tokens_BT, options)) return hidden_by_stages(tokens_BT, options);
  reserve(options, tokens_BT.size(1));
  torch::Tensor x_BTC = embed(tokens_BT, firsts_of(options), options);
  ensure(!recomputes(options) ||
             (x_BTC.requires_grad() && options.cache == nullptr &&
              options.visited_blocks == nullptr && options.attention_inputs == nullptr),
         "a block that is called twice has one effect, its gradients");
  x_BTC = config_.reversible ? reversible_blocks(x_BTC, options) : blocks(x_BTC, options);
  advance(options, tokens_BT.size(1));
  return norm_->forward(x_BTC);
}

torch::Tensor GptImpl::logits(const torch::Tensor& hidden) {
  return at::linear(hidden.to(head_VC().scalar_type()), head_VC());
}

const torch::Tensor& GptImpl::head_VC() const {
  return head_VC_.defined() ? head_VC_ : embedding_VC_;
}

std::int64_t GptImpl::parameter_count() const {
  std::int64_t count = 0;
  for (const torch::Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

std::vector<double> GptImpl::slopes() const { return positions_->slopes(); }

std::vector<AttentionProblem> GptImpl::problems_of_layers(const BatchForm& batch) const {
  const torch::Tensor tokens_BT = torch::empty({batch.sequences, batch.length}, torch::kMeta);
  ForwardOptions options;
  options.training = batch.training;
  if (batch.documents) options.document_start_BT = torch::empty_like(tokens_BT, torch::kLong);
  std::vector<AttentionProblem> problems;
  for (std::int64_t layer = 0; layer < config_.layers; ++layer)
    problems.push_back(problem_of(tokens_BT, options, layer));
  return problems;
}

std::string GptImpl::attention_kernel(const BatchForm& batch, torch::Device device) const {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> kernels;  // with their layers
  const auto problems = problems_of_layers(batch);
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
    const AttentionProblem& problem = problems[static_cast<std::size_t>(layer)];
    const std::string name = choose_attention(problem, device, attention_.kernel).name;
    auto kernel = std::ranges::find(kernels, name, [](const auto& one) { return one.first; });
    if (kernel == kernels.end()) kernel = kernels.insert(kernel, {name, {}});
    kernel->second.push_back(layer);
  }
  if (kernels.size() == 1) return kernels.front().first;
  std::vector<std::string> texts;
  for (const auto& [name, layers] : kernels) {
    std::vector<std::string> numbers;
    for (const std::int64_t layer : layers) numbers.push_back(cat(layer));
    texts.push_back(cat(name, " (layers ", join(numbers, ","), ")"));
  }
  return join(texts, ", ");
}

std::string GptImpl::why_no_device_kernel(const BatchForm& batch, torch::Device device) const {
  for (const AttentionProblem& problem : problems_of_layers(batch)) {
    const std::string why = alibi::why_no_device_kernel(problem, device, attention_.kernel);
    if (!why.empty()) return why;
  }
  return {};
}

std::string GptImpl::uncounted_kernel(std::int64_t layer, torch::Device device) const {
  const torch::Tensor tokens_BT = torch::empty({1, kTile}, torch::kMeta);
  const AttentionKernel& kernel =
      choose_attention(problem_of(tokens_BT, {}, layer), device, attention_.kernel);
  return kernel.tiles == nullptr ? kernel.name : "";
}

AttentionProblem GptImpl::problem_of(const torch::Tensor& tokens_BT, const ForwardOptions& options,
                                     std::int64_t layer) const {
  const auto shape = [&](std::int64_t heads) {
    return torch::empty({tokens_BT.size(0), heads, tokens_BT.size(1), head_width(config_)},
                        torch::TensorOptions(torch::kMeta).dtype(type_));
  };
  const torch::Tensor normed_BTC =
      torch::empty({tokens_BT.size(0), tokens_BT.size(1), config_.width},
                   torch::TensorOptions(torch::kMeta).dtype(type_));
  return describe_problem({shape(config_.heads),
                           shape(key_value_heads(config_)),
                           {},
                           score_options(layer, tokens_BT.size(1), normed_BTC, options)});
}

void GptImpl::reserve(const ForwardOptions& options, std::int64_t positions) {
  if (options.cache != nullptr) options.cache->reserve(positions);
  for (Cache* const cache : options.caches) cache->reserve(positions);
}

void GptImpl::advance(const ForwardOptions& options, std::int64_t positions) {
  if (options.cache != nullptr) options.cache->advance(positions);
  for (Cache* const cache : options.caches) cache->advance(positions);
}

// Where new positions begin: of all sequences, or of each.
std::vector<std::int64_t> GptImpl::firsts_of(const ForwardOptions& options) {
  if (!options.caches.empty()) return lengths_of(options.caches);
  return {options.cache != nullptr ? options.cache->length() : 0};
}

torch::Tensor GptImpl::embed(const torch::Tensor& tokens_BT, Places firsts,
                             const ForwardOptions& options) {
  const ModelConfig& m = config_;
  torch::Tensor x_BTC = at_places(
      at::embedding(embedding_VC_, tokens_BT), firsts,
      [&](const torch::Tensor& x, std::int64_t first) { return positions_->embed(x, first); });
  if (embedding_norm_) x_BTC = embedding_norm_->forward(x_BTC);
  if (options.training)
    x_BTC = dropout(x_BTC, m.embedding_dropout, options.random.with("embedding"));
  return typed(x_BTC);
}

// Models of fp32 are also called in fp64, by tests.
torch::Tensor GptImpl::typed(const torch::Tensor& x) const {
  return x.scalar_type() == torch::kDouble ? x : x.to(type_);
}

std::int64_t GptImpl::keys_reached(Places firsts, std::int64_t positions,
                                   const ForwardOptions& options) {
  const std::int64_t all = std::ranges::max(firsts) + positions;
  const std::int64_t window = options.cache != nullptr ? options.cache->window() : 0;
  return window > 0 ? std::min(window, all) : all;
}

ScoreOptions GptImpl::score_options(std::int64_t layer, std::int64_t keys,
                                    const torch::Tensor& normed_BTC,
                                    const ForwardOptions& options) const {
  const ModelConfig& m = config_;
  ScoreOptions scores;
  scores.scale = m.attention_scale.value_or(1.0 / std::sqrt(static_cast<double>(head_width(m))));
  scores.visible = {options.document_start_BT, rules_of(layer, keys), hashed(layer), {}, {}};
  scores.skip = attention_.skip;
  scores.bias = positions_->bias({layer, keys, embedding_VC_.device(), options, normed_BTC});
  if (options.training) {
    scores.dropout = m.attention_dropout;
    scores.dropout_key = options.random.with("attention").with(static_cast<std::uint64_t>(layer));
  }
  return scores;
}

std::shared_ptr<const KeyRules> GptImpl::rules_of(std::int64_t layer, std::int64_t keys) const {
  std::shared_ptr<const KeyRules>& rules = rules_[static_cast<std::size_t>(layer)];
  // Of twice the keys: a text that grows token by token asks again seldom.
  if (rules && !rules->reaches(keys)) rules = key_rules(config_, layer, 2 * keys);
  return rules;
}

AttentionInputs GptImpl::heads_of(std::int64_t layer, const torch::Tensor& normed_BTC,
                                  Places firsts, const ForwardOptions& options) {
  const BlockImpl& block = *blocks_[static_cast<std::size_t>(layer)];
  AttentionInputs inputs = split_qkv(layer, block.qkv->forward(normed_BTC));
  place(inputs, layer, normed_BTC, firsts, options);
  return inputs;
}

AttentionInputs GptImpl::split_qkv(std::int64_t layer, const torch::Tensor& qkv_BTO) const {
  const ModelConfig& m = config_;
  const std::int64_t kv_width = key_value_heads(m) * head_width(m);
  if (hashed(layer) != nullptr) {  // `place` makes keys of queries
    const auto parts = split_last(qkv_BTO, {m.width, m.width});
    const torch::Tensor q_BHTD = split_heads(parts[0], m.heads);
    return {q_BHTD, q_BHTD, split_heads(parts[1], m.heads), {}};
  }
  const auto parts = split_last(qkv_BTO, {m.width, kv_width, kv_width});
  return {split_heads(parts[0], m.heads),
          split_heads(parts[1], key_value_heads(m)),
          split_heads(parts[2], key_value_heads(m)),
          {}};
}

void GptImpl::place(AttentionInputs& inputs, std::int64_t layer, const torch::Tensor& normed_BTC,
                    Places firsts, const ForwardOptions& options) const {
  const std::int64_t positions = normed_BTC.size(1);
  const bool moves = positions_->moves_heads();
  inputs.options =
      score_options(layer, keys_reached(firsts, positions, options), normed_BTC, options);
  if (moves && positions_->infuse(firsts[0], positions, embedding_VC_.device()).defined())
    infuse(inputs, layer, normed_BTC, firsts);
  if (hashed(layer) != nullptr) inputs.k_BGSD = keys_of_queries(inputs.q_BHTD);
  if (moves) {
    const auto turned = [&](const torch::Tensor& x_BHTD, std::int64_t first) {
      return positions_->turn(x_BHTD, first, options.stretch);
    };
    inputs.q_BHTD = at_places(inputs.q_BHTD, firsts, turned);
    inputs.k_BGSD = at_places(inputs.k_BGSD, firsts, turned);
  }
  if (config_.scalable_softmax)
    inputs.q_BHTD = scale_by_length(layer, inputs.q_BHTD, firsts, options);
}

// W (x + p) = W x + W p, and W p is the same for all sequences at one place.
void GptImpl::infuse(AttentionInputs& inputs, std::int64_t layer, const torch::Tensor& normed_BTC,
                     Places firsts) const {
  const ModelConfig& m = config_;
  const bool shared = hashed(layer) != nullptr;  // keys are made of queries
  const torch::Tensor& weight_OI = blocks_[static_cast<std::size_t>(layer)]->qkv->weight_OI;
  const std::int64_t kv_heads = key_value_heads(m),
                     kv_width = shared ? 0 : kv_heads * head_width(m);
  std::vector<torch::Tensor> added;
  for (const std::int64_t first : firsts) {
    const torch::Tensor infused_TC =
        positions_->infuse(first, normed_BTC.size(1), embedding_VC_.device());
    added.push_back(
        at::linear(infused_TC.to(normed_BTC.scalar_type()),
                   weight_OI.narrow(0, 0, m.width + kv_width).to(normed_BTC.options())));
  }
  const torch::Tensor added_BTO = torch::stack(added);
  inputs.q_BHTD = inputs.q_BHTD + split_heads(added_BTO.narrow(2, 0, m.width), m.heads);
  if (!shared)
    inputs.k_BGSD = inputs.k_BGSD + split_heads(added_BTO.narrow(2, m.width, kv_width), kv_heads);
}

// s log n times each query that sees n keys (Nakanishi 2025, section 3), n counted from the start
// of its document; a pattern does not change it.
torch::Tensor GptImpl::scale_by_length(std::int64_t layer, const torch::Tensor& q_BHTD,
                                       Places firsts, const ForwardOptions& options) const {
  const auto exact = exact_type(q_BHTD);
  const auto counts = torch::TensorOptions(exact).device(q_BHTD.device());
  std::vector<torch::Tensor> seen;
  const std::int64_t count = q_BHTD.size(2);
  const std::int64_t window = options.cache == nullptr ? 0 : options.cache->window();
  for (std::int64_t first : firsts) {
    if (window > 0) first = std::min(first, window - count);  // the cache drops the oldest first
    seen.push_back(torch::arange(first + 1, first + count + 1, counts));
  }
  torch::Tensor seen_BT = torch::stack(seen);
  if (options.document_start_BT.defined()) seen_BT = seen_BT - options.document_start_BT;
  const torch::Tensor scale_H11 =
      softmax_scales_H_[static_cast<std::size_t>(layer)].to(exact).view({-1, 1, 1});
  return (q_BHTD.to(exact) * (scale_H11 * seen_BT.log().unsqueeze(1).unsqueeze(3)))
      .to(q_BHTD.scalar_type());
}

torch::Tensor GptImpl::count_blocks(const AttentionInputs& inputs,
                                    std::vector<torch::Tensor>& visited) const {
  const auto& q = inputs.q_BHTD;
  const AttentionProblem problem = describe_problem(inputs);
  const AttentionKernel& kernel = choose_attention(problem, q.device(), attention_.kernel);
  visited.push_back(torch::full({q.size(0), q.size(1), (q.size(2) + kTile - 1) / kTile},
                                kNotCounted, torch::kInt32));
  if (kernel.tiles == nullptr) return attention(inputs, attention_.kernel);
  const torch::Tensor output_BHTD =
      tiled_attention_forward(*kernel.tiles, inputs, visited.back()).output_BHTD;
  if (attention_.kernel == "check") check_output(kernel, inputs, output_BHTD);
  return output_BHTD;
}

torch::Tensor GptImpl::join_heads(const torch::Tensor& x_BHTD) {
  return x_BHTD.transpose(1, 2).flatten(2, 3);
}

torch::Tensor GptImpl::mixed_heads(std::int64_t layer, const torch::Tensor& normed_BTC,
                                   const ForwardOptions& options) {
  AttentionInputs inputs = heads_of(layer, normed_BTC, firsts_of(options), options);
  if (!options.caches.empty())
    return join_heads(attend_caches(inputs, layer, options.caches, attention_.kernel));
  const bool plain = options.visited_blocks == nullptr && options.attention_inputs == nullptr &&
                     !options.document_start_BT.defined();
  if (options.cache != nullptr && plain && normed_BTC.size(0) == 1 && !at::GradMode::is_enabled())
    return join_heads(attend_caches(inputs, layer, {&options.cache, 1}, attention_.kernel));
  if (options.cache != nullptr)
    go_on(*options.cache, layer, inputs);
  else
    inputs.options.visible.hash(inputs.k_BGSD);
  if (options.attention_inputs != nullptr) options.attention_inputs(inputs);
  return join_heads(options.visited_blocks == nullptr
                        ? attention(inputs, attention_.kernel)
                        : count_blocks(inputs, *options.visited_blocks));
}

torch::Tensor GptImpl::attention_of(std::int64_t layer, const torch::Tensor& base_BTC,
                                    const torch::Tensor& normed_BTC,
                                    const ForwardOptions& options) {
  const BlockImpl& block = *blocks_[static_cast<std::size_t>(layer)];
  const torch::Tensor mixed_BTC = mixed_heads(layer, normed_BTC, options);
  // What is dropped from cannot be summed before.
  if (!options.training || config_.residual_dropout == 0)
    return block.out->add_to(base_BTC, mixed_BTC);
  const torch::Tensor kept_BTC =
      dropout(block.out->forward(mixed_BTC), config_.residual_dropout,
              options.random.with("attention out").with(static_cast<std::uint64_t>(layer)));
  return base_BTC.defined() ? base_BTC + kept_BTC : kept_BTC;
}

torch::Tensor GptImpl::mlp_of(std::int64_t layer, const torch::Tensor& base,
                              const torch::Tensor& normed, std::int64_t first,
                              const ForwardOptions& options) const {
  const ModelConfig& m = config_;
  const BlockImpl& block = *blocks_[static_cast<std::size_t>(layer)];
  const double inner = options.training ? m.mlp_dropout : 0;
  const double outer = options.training ? m.residual_dropout : 0;
  const torch::Tensor summed = outer > 0 ? torch::Tensor() : base;
  const auto part = static_cast<std::uint64_t>(layer);
  torch::Tensor sum;
  if (inner == 0) {
    sum = mlp(*block.up, *block.down, m.activation, summed, normed);
  } else {
    const torch::Tensor h = dropout(activate(block.up->forward(normed), m.activation), inner,
                                    options.random.with("mlp").with(part), first);
    sum = block.down->add_to(summed, h);
  }
  if (outer == 0) return sum;
  const torch::Tensor kept = dropout(sum, outer, options.random.with("mlp out").with(part), first);
  return base.defined() ? base + kept : kept;
}

torch::Tensor GptImpl::add_attention(std::int64_t layer, const torch::Tensor& x_BTC,
                                     const ForwardOptions& options) {
  const NormFork in = blocks_[static_cast<std::size_t>(layer)]->norm_1->fork(x_BTC);
  return attention_of(layer, in.same, in.normed, options);
}

torch::Tensor GptImpl::add_mlp(std::int64_t layer, const torch::Tensor& x_BTC,
                               const ForwardOptions& options) {
  const auto of_rows = [this, layer, options](const torch::Tensor& x, std::int64_t first) {
    const NormFork in = blocks_[static_cast<std::size_t>(layer)]->norm_2->fork(x);
    return mlp_of(layer, in.same, in.normed, first, options);
  };
  if (options.mlp_chunk_rows == 0) return of_rows(x_BTC, 0);
  return by_row_chunks(x_BTC.flatten(0, 1), options.mlp_chunk_rows, of_rows).view(x_BTC.sizes());
}

torch::Tensor GptImpl::blocks(torch::Tensor x_BTC, const ForwardOptions& options) {
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
    const auto block = [this, layer, options](const torch::Tensor& in_BTC) {
      return add_mlp(layer, add_attention(layer, in_BTC, options), options);
    };
    x_BTC = recomputes(options) ? recomputed(x_BTC, block) : block(x_BTC);
  }
  return x_BTC;
}

torch::Tensor GptImpl::reversible_blocks(const torch::Tensor& x_BTC,
                                         const ForwardOptions& options) {
  std::vector<ReversibleLayer> layers;
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
    const std::shared_ptr<BlockImpl> block = blocks_[static_cast<std::size_t>(layer)];
    layers.push_back({[=, this](const torch::Tensor& x) {
                        return attention_of(layer, {}, block->norm_1->forward(typed(x)), options);
                      },
                      [=, this](const torch::Tensor& x, std::int64_t first) {
                        return mlp_of(layer, {}, block->norm_2->forward(typed(x)), first, options);
                      }});
  }
  return typed(
      reversible_layers(x_BTC, std::move(layers),
                        recomputes(options) ? Activations::kRecomputed : Activations::kStored,
                        options.mlp_chunk_rows));
}

}  // namespace alibi
