// New positions of sequences with caches, against attention as loops in fp64.
#include "model/attention_decode.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "device/libtorch.h"
#include "model/paged_cache.h"
#include "plain_attention.h"

namespace alibi {
namespace {

struct Shape {
  std::int64_t heads = 4, shared = 4, queries = 1, width = 32;
};

// Sequences of several lengths in a layer's caches, and the same as one piece each.
class Caches {
 public:
  Caches(bool paged, Shape shape, const std::vector<std::int64_t>& lengths, torch::ScalarType type,
         bool terms)
      : pool_(1), shape_(shape), terms_(terms) {
    torch::manual_seed(5);
    for (const std::int64_t length : lengths) {
      if (paged) {
        caches_.push_back(std::make_unique<PagedSequence>(pool_));
      } else {
        caches_.push_back(std::make_unique<KeyValueCache>(1));
      }
      pointers_.push_back(caches_.back().get());
      const AttentionInputs all = drawn(length + shape.queries, type);
      wholes_.push_back(all);
      // In two pieces, taken in turns: pages of a sequence do not lie side by side.
      for (const auto& [first, end] :
           {std::pair(std::int64_t{0}, length / 2), {length / 2, length}}) {
        const std::int64_t count = end - first;
        if (count == 0) continue;
        const AttentionInputs part = piece(all, first, count);
        pointers_.back()->extend(0, part.k_BGSD, part.v_BGSD, part.options.bias.terms_BHS);
        pointers_.back()->advance(count);
        if (pointers_.size() > 1) pointers_.front()->reserve(1);
      }
    }
    for (Cache* const cache : pointers_) cache->reserve(shape.queries);
  }

  std::span<Cache* const> all() const { return pointers_; }
  const std::vector<AttentionInputs>& wholes() const { return wholes_; }

  // The new positions of sequences first ... first + count - 1.
  AttentionInputs inputs(const ScoreOptions& options, std::size_t first, std::size_t count) const {
    std::vector<torch::Tensor> q, k, v, terms;
    for (std::size_t b = first; b < first + count; ++b) {
      const AttentionInputs part =
          piece(wholes_[b], wholes_[b].k_BGSD.size(2) - shape_.queries, shape_.queries);
      q.push_back(part.q_BHTD);
      k.push_back(part.k_BGSD);
      v.push_back(part.v_BGSD);
      if (terms_) terms.push_back(part.options.bias.terms_BHS);
    }
    AttentionInputs inputs{torch::cat(q), torch::cat(k), torch::cat(v), options};
    if (terms_) inputs.options.bias.terms_BHS = torch::cat(terms);
    return inputs;
  }

 private:
  AttentionInputs drawn(std::int64_t length, torch::ScalarType type) const {
    const auto draw = [&](std::int64_t heads, std::int64_t rows) {
      return torch::randn({1, heads, rows, shape_.width}).to(type);
    };
    AttentionInputs all{draw(shape_.heads, shape_.queries),
                        draw(shape_.shared, length),
                        draw(shape_.shared, length),
                        {}};
    if (terms_)
      all.options.bias.terms_BHS =
          -torch::rand({1, shape_.heads, length}, torch::kDouble).mul(0.2).cumsum(2);
    return all;
  }

  // Of positions from `first` on; its terms count from 0 before them.
  AttentionInputs piece(const AttentionInputs& all, std::int64_t first, std::int64_t count) const {
    AttentionInputs part = all;
    part.k_BGSD = all.k_BGSD.narrow(2, first, count);
    part.v_BGSD = all.v_BGSD.narrow(2, first, count);
    if (!terms_) return part;
    const torch::Tensor& terms_BHS = all.options.bias.terms_BHS;
    part.options.bias.terms_BHS = terms_BHS.narrow(2, first, count);
    if (first > 0)
      part.options.bias.terms_BHS = part.options.bias.terms_BHS - terms_BHS.narrow(2, first - 1, 1);
    return part;
  }

  PagePool pool_;
  Shape shape_;
  bool terms_;
  std::vector<std::unique_ptr<Cache>> caches_;
  std::vector<Cache*> pointers_;
  std::vector<AttentionInputs> wholes_;
};

const std::vector<std::int64_t> kLengths = {0, 1, 7, 8, 62, 63, 64, 129, 300};

// What a score may be made of, and what may hide a key.
struct Options {
  const char* name;
  bool slopes = false, table = false, terms = false;
  std::vector<std::string> pattern = {};
};
const Options kOptions[] = {
    {.name = "plain"},
    {.name = "slopes", .slopes = true},
    {.name = "table", .table = true},
    {.name = "terms", .terms = true},
    {.name = "all", .slopes = true, .table = true, .terms = true},
    {.name = "window", .slopes = true, .pattern = {"window(20) + global(3)"}},
    {.name = "patterns",
     .slopes = true,
     .pattern = {"heads 0: strided(9)", "heads 1: fixed(50, 2)", "heads 2: random(1) + window(3)"}},
};

ScoreOptions score_options(const Options& given, Shape shape) {
  ScoreOptions options;
  options.scale = 0.3;
  torch::manual_seed(6);
  if (given.slopes)
    options.bias.slopes_H = torch::pow(2.0, -torch::arange(1, shape.heads + 1).to(torch::kFloat));
  if (given.table) options.bias.table_HL = torch::randn({shape.heads, 40});
  if (given.pattern.empty()) return options;
  ModelConfig model;
  model.layers = 1;
  model.heads = shape.heads;
  model.attention_pattern = given.pattern;
  options.visible.rules = key_rules(model, 0, 512);
  EXPECT_TRUE(options.visible.rules != nullptr) << given.name;
  return options;
}

double rounding(torch::ScalarType type) {
  if (type == torch::kDouble) return 1e-12;
  return type == torch::kFloat ? 1e-5 : 1.6e-2;
}

void expect_truth(const std::string& kernel, bool paged, const Options& given, Shape shape,
                  torch::ScalarType type) {
  const torch::NoGradGuard guard;
  const Caches caches(paged, shape, kLengths, type, given.terms);
  const ScoreOptions options = score_options(given, shape);
  const torch::Tensor found_BHTD =
      attend_caches(caches.inputs(options, 0, kLengths.size()), 0, caches.all(), kernel);
  for (std::size_t b = 0; b < kLengths.size(); ++b) {
    AttentionInputs whole = caches.wholes()[b];
    const torch::Tensor terms_BHS = whole.options.bias.terms_BHS;
    whole.options = options;
    whole.options.bias.terms_BHS = terms_BHS;
    const torch::Tensor truth_HTD =
        loop_attention(whole, torch::zeros_like(whole.q_BHTD)).value.output[0];
    const torch::Tensor off_HTD =
        (found_BHTD[static_cast<std::int64_t>(b)].to(torch::kDouble) - truth_HTD).abs();
    EXPECT_LE(off_HTD.max().item<double>(), rounding(type))
        << kernel << ", " << given.name << ", " << (paged ? "pages" : "one piece")
        << ", head width " << shape.width << ", " << kLengths[b] << " + " << shape.queries
        << " positions";
  }
}

// Seen failing with terms that do not go on from those before, with a table one distance off, and
// with the mask of another row.
TEST(AttentionDecode, IsAttentionOverAllThatTheCachesHold) {
  for (const std::string kernel : {"avx512", "avx2", "plain", "reference", "auto", "check"}) {
    const AttentionProblem problem{.sequences = 1,
                                   .heads = 1,
                                   .key_value_heads = 1,
                                   .queries = 1,
                                   .keys = 1,
                                   .head_width = 8,
                                   .scalar = ScalarKind::kBf16,
                                   .bias = {}};
    const bool lacking = std::ranges::any_of(attention_kernels(), [&](const AttentionKernel& one) {
      return kernel == one.name && !one.supports(problem, torch::kCPU);
    });
    if (lacking) continue;  // here
    for (const Options& given : kOptions) {
      if (kernel != "auto" && given.name != std::string("all") &&
          given.name != std::string("patterns"))
        continue;
      for (const auto type : {torch::kFloat, torch::kBFloat16}) {
        expect_truth(kernel, true, given, {}, type);
        if (kernel == "auto") expect_truth(kernel, false, given, {}, type);
      }
    }
  }
  for (const Options& given : kOptions) expect_truth("auto", true, given, {}, torch::kDouble);
}

TEST(AttentionDecode, TakesAnyShape) {
  for (const std::string kernel : {"auto", "plain"}) {
    for (const auto type : {torch::kFloat, torch::kBFloat16}) {
      for (const std::int64_t width : {8, 16, 24, 40, 64, 72, 128, 256})
        expect_truth(kernel, true, kOptions[1], {.width = width}, type);
      expect_truth(kernel, true, kOptions[4], {.shared = 2}, type);
      for (const std::int64_t queries : {2, 5, 8, 20, 64, 70})
        for (const Options& given : {kOptions[4], kOptions[6]})
          expect_truth(kernel, false, given, {.shared = 1, .queries = queries}, type);
    }
  }
}

// Seen failing with blocks of all keys, masked.
TEST(AttentionDecode, ReadsNoBlockThatIsHidden) {
  const torch::NoGradGuard guard;
  for (const auto type : {torch::kFloat, torch::kBFloat16}) {
    for (const bool hidden : {true, false}) {
      const Caches caches(false, {}, {300}, type, false);
      const Cache::View far = caches.all().front()->view(0, 0, 256);
      for (const torch::Tensor& x : {far.k_BGSD, far.v_BGSD})
        x.fill_(std::numeric_limits<double>::quiet_NaN());
      const ScoreOptions options = score_options(
          {.name = "window", .slopes = true, .pattern = {hidden ? "window(20)" : "window(200)"}},
          {});
      const torch::Tensor found =
          attend_caches(caches.inputs(options, 0, 1), 0, caches.all(), "auto");
      EXPECT_EQ(found.isfinite().all().item<bool>(), hidden);
    }
  }
}

// Seen failing with a scale that changes with a sequence's place by one unit of its last bit.
TEST(AttentionDecode, DoesNotDependOnOtherSequences) {
  const torch::NoGradGuard guard;
  for (const auto type : {torch::kFloat, torch::kBFloat16}) {
    const Caches together(true, {}, kLengths, type, false), alone(true, {}, kLengths, type, false);
    const ScoreOptions options = score_options(kOptions[1], {});
    const torch::Tensor all_BHTD =
        attend_caches(together.inputs(options, 0, kLengths.size()), 0, together.all(), "auto");
    for (std::size_t b = 0; b < kLengths.size(); ++b) {
      const torch::Tensor one_BHTD =
          attend_caches(alone.inputs(options, b, 1), 0, alone.all().subspan(b, 1), "auto");
      EXPECT_TRUE(torch::equal(one_BHTD[0], all_BHTD[static_cast<std::int64_t>(b)])) << b;
    }
  }
}

}  // namespace
}  // namespace alibi
