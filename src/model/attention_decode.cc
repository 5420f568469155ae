#include "model/attention_decode.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "device/libtorch.h"
#include "model/attention_rows.h"
#include "model/attention_tiled.h"
#include "model/linear/spread.h"

namespace alibi {
namespace {

// Products of a query and a key below which one thread is done before another has begun.
constexpr std::int64_t kFewProducts = 1 << 12;

AttentionInputs of_sequence(const AttentionInputs& all, std::int64_t b) {
  AttentionInputs one = all;
  for (torch::Tensor* const x : {&one.q_BHTD, &one.k_BGSD, &one.v_BGSD}) *x = x->narrow(0, b, 1);
  torch::Tensor& terms_BHS = one.options.bias.terms_BHS;
  if (terms_BHS.defined()) terms_BHS = terms_BHS.narrow(0, b, 1);
  return one;
}

// What a cache holds in place of new positions alone.
void put(const Cache::View& all, AttentionInputs& inputs) {
  inputs.k_BGSD = all.k_BGSD;
  inputs.v_BGSD = all.v_BGSD;
  if (inputs.options.bias.terms_BHS.defined()) inputs.options.bias.terms_BHS = all.terms_BHS;
}

// Of one sequence, whose text's earlier keys are packed where it is read in pieces.
torch::Tensor of_piece(AttentionInputs one, std::int64_t layer, Cache& cache,
                       const AttentionKernel* kernel, const std::string& choice) {
  Cache::Reading* const reading = cache.reading(layer);
  if (reading == nullptr || kernel == nullptr || choice == "check" || cache.length() % kTile != 0) {
    go_on(cache, layer, one);
    return attention(one, choice);
  }
  RECORD_USER_SCOPE("alibi::attention");
  const std::int64_t keys = cache.add(layer, one.k_BGSD, one.v_BGSD, one.options.bias.terms_BHS);
  if (!reading->packed) {
    AttentionProblem whole = describe_problem(one);
    whole.keys = reading->positions;
    reading->packed = std::make_shared<PackedKeyValues>(*kernel->tiles, whole);
  }
  put(cache.view(layer, reading->packed->length(), keys), one);
  return reading->packed->attend(one);
}

torch::Tensor by_views(const AttentionInputs& inputs, std::int64_t layer,
                       std::span<Cache* const> caches, const AttentionKernel* kernel,
                       const std::string& choice) {
  torch::Tensor output_BHTD = rows_like(inputs.q_BHTD);
  const auto attend_to = [&](std::int64_t begin, std::int64_t end) {
    const torch::NoGradGuard guard;
    for (std::int64_t b = begin; b < end; ++b) {
      Cache& cache = *caches[static_cast<std::size_t>(b)];
      output_BHTD.narrow(0, b, 1).copy_(
          of_piece(of_sequence(inputs, b), layer, cache, kernel, choice));
    }
  };
  // Another thread would stand on the first device, whatever this one's is.
  if (inputs.q_BHTD.is_cpu())
    at::parallel_for(0, std::ssize(caches), 1, attend_to);
  else
    attend_to(0, std::ssize(caches));
  return output_BHTD;
}

}  // namespace

bool few_queries(std::int64_t queries, std::int64_t keys) {
  return queries <= 8 || (queries <= kTile && keys <= 4 * kTile);
}

const AttentionKernel* DecodeCall::kernel_for(const AttentionInputs& inputs,
                                              const std::string& choice) {
  if (!inputs.q_BHTD.is_cpu()) return nullptr;
  const AttentionKernel& kernel =
      choose_attention(describe_problem(inputs), inputs.q_BHTD.device(), choice);
  return kernel.tiles == nullptr ? nullptr : &kernel;
}

DecodeCall::DecodeCall(const AttentionKernel& kernel, const AttentionInputs& inputs,
                       std::int64_t layer, torch::Tensor output_BHTD)
    : kernel_(&kernel),
      layer_(layer),
      q_(dense_rows(inputs.q_BHTD)),
      k_(dense_rows(inputs.k_BGSD)),
      v_(dense_rows(inputs.v_BGSD)),
      output_BHTD_(std::move(output_BHTD)) {
  a_.ops = q_.scalar_type() == torch::kBFloat16 ? kernel.tiles->bf16 : kernel.tiles->fp32;
  a_.heads = q_.size(1);
  a_.key_value_heads = k_.size(1);
  a_.queries = q_.size(2);
  a_.head_width = q_.size(3);
  a_.q = head_rows<void>(q_);
  a_.k = head_rows<void>(k_);
  a_.v = head_rows<void>(v_);
  a_.output = head_rows<void>(output_BHTD_);
  // A thread that goes on to the next head has asked for its keys.
  const bool many = q_.size(0) >= 4 * at::get_num_threads();
  parts_ = many ? 1 : a_.key_value_heads;
}

void DecodeCall::set(const ScoreOptions& o, std::span<Cache* const> caches) {
  ensure(std::ssize(caches) == q_.size(0), "a cache for each sequence");
  a_.scale = static_cast<float>(o.scale);
  if (o.bias.slopes_H.defined()) {
    slopes_ = o.bias.slopes_H.detach().to(torch::kFloat).contiguous();
    a_.slopes_H = slopes_.data_ptr<float>();
  }
  if (o.bias.table_HL.defined()) {
    table_ = (o.bias.table_HL.detach().to(torch::kFloat) * kLog2E).contiguous();
    a_.table_HL = table_.data_ptr<float>();
    a_.distances = table_.size(1);
  }
  if (o.bias.terms_BHS.defined()) {
    terms_ = o.bias.terms_BHS.to(torch::kDouble).contiguous();
    a_.terms_BHT = terms_.data_ptr<double>();
  }
  rules_ = o.visible.rules;
  a_.rules = rules_ ? rules_->rules().data() : nullptr;
  a_.rule_of_each = rules_ && rules_->rules().size() > 1;
  keys_.clear();
  for (Cache* const cache : caches) keys_.push_back(cache->places(layer_, k_, v_, terms_));
}

std::int64_t DecodeCall::items() const { return q_.size(0) * parts_; }

void DecodeCall::run(std::int64_t item) const {
  const std::int64_t b = item / parts_, part = item % parts_, groups = a_.key_value_heads;
  for (std::int64_t g = part * groups / parts_; g < (part + 1) * groups / parts_; ++g)
    decode_group(a_, keys_[static_cast<std::size_t>(b)], b, g);
}

void DecodeCall::run_all() const {
  std::int64_t products = 0;
  for (const PagedKeys& keys : keys_) products += keys.positions * a_.heads * a_.queries;
  if (products > kFewProducts) {
    spread(items(), 0, nothing, [&](std::int64_t i, void*) { run(i); });
  } else {
    for (std::int64_t i = 0; i < items(); ++i) run(i);
  }
}

void DecodeCall::check(const AttentionInputs& inputs, std::span<Cache* const> caches) const {
  for (std::size_t b = 0; b < keys_.size(); ++b) {
    const auto sequence = static_cast<std::int64_t>(b);
    AttentionInputs one = of_sequence(inputs, sequence);
    put(caches[b]->view(layer_, 0, keys_[b].positions), one);
    check_output(*kernel_, one, output_BHTD_.narrow(0, sequence, 1));
  }
}

void go_on(Cache& cache, std::int64_t layer, AttentionInputs& inputs) {
  put(cache.extend(layer, inputs.k_BGSD, inputs.v_BGSD, inputs.options.bias.terms_BHS), inputs);
  VisibleKeys& visible = inputs.options.visible;
  ensure(visible.hashed == nullptr || !visible.first_BT.defined(),
         "where a cached key's document begins is not kept");
  visible.hash(inputs.k_BGSD);
}

torch::Tensor attend_caches(const AttentionInputs& inputs, std::int64_t layer,
                            std::span<Cache* const> caches, const std::string& choice) {
  ensure(!at::GradMode::is_enabled(), "sequences with caches of their own have no graph");
  ensure(!inputs.options.visible.first_BT.defined(), "sequences, not documents");
  const AttentionKernel* const kernel = DecodeCall::kernel_for(inputs, choice);
  std::int64_t keys = 0;
  for (const Cache* const cache : caches) keys = std::max(keys, cache->length());
  if (kernel == nullptr || !few_queries(inputs.q_BHTD.size(2), keys + inputs.q_BHTD.size(2)))
    return by_views(inputs, layer, caches, kernel, choice);
  RECORD_USER_SCOPE("alibi::attention");
  torch::Tensor output_BHTD = rows_like(inputs.q_BHTD);
  DecodeCall call(*kernel, inputs, layer, output_BHTD);
  call.set(inputs.options, caches);
  call.run_all();
  if (choice == "check") call.check(inputs, caches);
  return output_BHTD;
}

}  // namespace alibi
