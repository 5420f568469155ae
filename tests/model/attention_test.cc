// Every listed kernel against the formula, in every size and setting; no kernel is named here.
#include "model/attention.h"
#include "device/libtorch.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>

#include "base/random.h"
#include "base/strings.h"
#include "device/cuda_library.h"
#include "model/attention_tiled.h"
#include "model/device_on_host.h"
#include "model/plain_attention.h"
#include "support/error_text.h"

namespace alibi {
namespace {

constexpr std::int64_t kSizes[] = {1, 15, 16, 17, 31, 33, 64, 127, 128, 129};

struct Case {
  std::int64_t sequences = 2, heads = 2, groups = 2, queries = 16, keys = 16, width = 8;
  BiasForms bias = {.slopes = true};
  bool learned = true;  // a bias that needs a gradient
  bool documents = false;
  std::int64_t document_length = 7;  // of the first sequence; each further one's is 4 longer
  KeyParts shown = {};               // of the last head, and of the others where not `one_shown`
  bool list = false;                 // of blocks, beside them
  bool one_shown = false;
  bool rising = false;  // the first slope is below 0: far keys gain
  double dropout = 0;
  torch::ScalarType type = torch::kFloat;
  std::string text() const {
    return cat("B ", sequences, " H ", heads, " G ", groups, " T ", queries, " S ", keys, " D ",
               width, bias.slopes ? " slopes" : "", bias.table ? " table" : "",
               bias.terms ? " terms" : "", learned ? " learned" : "",
               documents ? cat(" documents ", document_length) : "", " window ", shown.window,
               " dilation ", shown.dilation, " stride ", shown.stride, " segment ", shown.segment,
               " columns ", shown.columns, " of ", shown.period, " global ", shown.global,
               list ? " list" : "", one_shown ? " one head" : "", " dropout ", dropout, " ",
               torch::toString(type));
  }
};

// First visible keys as packed documents have them: never past the query, never falling.
torch::Tensor some_documents(const Case& c) {
  torch::Tensor starts = torch::zeros({c.sequences, c.queries}, torch::kLong);
  auto start = starts.accessor<std::int64_t, 2>();
  for (std::int64_t b = 0; b < c.sequences; ++b) {
    for (std::int64_t i = 0; i < c.queries; ++i) {
      const std::int64_t position = c.keys - c.queries + i;
      start[b][i] = position - position % (c.document_length + 4 * b);
    }
  }
  return starts;
}

// Pairs of blocks that are drawn, and each block with itself.
ListedBlocks draw_list(const Case& c) {
  ListedBlocks list{{0}, {}};
  const RandomKey key = RandomKey{9}.with("list");
  std::uint64_t turn = static_cast<std::uint64_t>(c.keys * 1000);
  for (std::int64_t row = 0; row <= c.keys / 64; ++row) {
    for (std::int64_t block = 0; block <= row; ++block)
      if (block == row || uniform(key, turn++) < 0.4) list.blocks.push_back(block);
    list.begin.push_back(std::ssize(list.blocks));
  }
  return list;
}

std::shared_ptr<const KeyRules> some_rules(const Case& c) {
  if (c.shown.show_all() && !c.list) return nullptr;
  const std::int64_t rules = c.one_shown ? c.heads : 1;
  std::vector<KeyParts> parts(static_cast<std::size_t>(rules));
  std::vector<ListedBlocks> lists(c.list ? parts.size() : 0);
  parts.back() = c.shown;
  if (c.list) lists.back() = draw_list(c);
  return std::make_shared<const KeyRules>(parts, lists);
}

torch::Tensor slopes(const Case& c) {
  torch::Tensor slopes_H = torch::pow(0.4, torch::arange(1, c.heads + 1).to(torch::kDouble));
  if (c.rising) slopes_H[0] = -0.05;
  return slopes_H;
}

AttentionInputs make_inputs(const Case& c) {
  torch::manual_seed(c.queries * 1000 + c.keys);
  const auto normal = [&](std::int64_t heads, std::int64_t length) {
    return torch::randn({c.sequences, heads, length, c.width}, torch::kDouble).to(c.type);
  };
  AttentionInputs inputs{normal(c.heads, c.queries), normal(c.groups, c.keys),
                         normal(c.groups, c.keys), ScoreOptions{}};
  ScoreOptions& o = inputs.options;
  o.scale = 1.7 / std::sqrt(static_cast<double>(c.width));
  const auto exact = c.type == torch::kDouble ? torch::kDouble : torch::kFloat;
  const auto learned = [&](const torch::Tensor& x) { return x.requires_grad_(c.learned); };
  if (c.bias.slopes) o.bias.slopes_H = learned(slopes(c).to(exact));
  // Some of 50 distances, some of all.
  const std::int64_t distances = c.keys % 2 == 0 ? c.keys + 3 : 50;
  if (c.bias.table) o.bias.table_HL = learned(torch::randn({c.heads, distances}, exact));
  if (c.bias.terms) {
    const auto steps = torch::randn({c.sequences, c.heads, c.keys}, torch::kDouble) - 0.3;
    o.bias.terms_BHS = learned((steps * 0.5).cumsum(2));
  }
  if (c.documents) o.visible.first_BT = some_documents(c);
  o.visible.rules = some_rules(c);
  o.dropout = c.dropout;
  o.dropout_key = RandomKey{5}.with("test");
  return inputs;
}

PlainResult run_kernel(const AttentionInputs& given, const AttentionKernel& kernel,
                       const torch::Tensor& gradient, torch::Device device) {
  AttentionInputs inputs = given;
  ScoreOptions& o = inputs.options;
  const auto leaf = [&](const torch::Tensor& x, bool learned) {
    return x.detach().clone().to(device).requires_grad_(learned);
  };
  for (torch::Tensor* x : {&inputs.q_BHTD, &inputs.k_BGSD, &inputs.v_BGSD}) *x = leaf(*x, true);
  for (torch::Tensor* x : {&o.bias.slopes_H, &o.bias.table_HL, &o.bias.terms_BHS})
    if (x->defined()) *x = leaf(*x, x->requires_grad());
  torch::Tensor& first_BT = o.visible.first_BT;
  if (first_BT.defined()) first_BT = first_BT.to(device);
  const torch::Tensor output = attention(inputs, kernel, false);
  output.backward(gradient.to(device));
  const auto grad = [](const torch::Tensor& x) {
    return x.defined() && x.grad().defined() ? x.grad().cpu() : torch::Tensor();
  };
  return {output.detach().cpu(), kernel.forward(inputs).lse_BHT.detach().cpu(),
          grad(inputs.q_BHTD),   grad(inputs.k_BGSD),
          grad(inputs.v_BGSD),   grad(o.bias.slopes_H),
          grad(o.bias.table_HL), grad(o.bias.terms_BHS)};
}

double error(const torch::Tensor& found, const torch::Tensor& truth) {
  return (found.to(torch::kDouble) - truth).abs().max().item<double>();
}

// At most `factor` times the textbook's own rounding in this type. Where the textbook is exact by
// luck (one key: softmax is 1), one rounding of the terms that make up the number is the floor.
struct Bound {
  const PlainResult& found;
  const PlainResult& textbook;
  const LoopResult& truth;
  void check(const char* what, torch::Tensor PlainResult::*part, double factor) const {
    ASSERT_EQ((found.*part).defined(), (truth.value.*part).defined()) << what;
    if (!(found.*part).defined()) return;
    ASSERT_EQ((found.*part).scalar_type(), (textbook.*part).scalar_type()) << what;
    double unit = 0x1p-49;
    if (found.output.scalar_type() != torch::kDouble) unit = 0x1p-23;
    if (found.output.scalar_type() == torch::kBFloat16) unit = 0x1p-9;
    // Gradients take their weights from a log-sum rounded to fp32: relative to its size.
    const double logs = unit == 0x1p-23 ? found.lse.abs().max().item<double>() : 0;
    const double floor = unit * std::max(1.0, logs) * (truth.terms.*part).max().item<double>();
    const double mine = error(found.*part, truth.value.*part);
    const double theirs = error(textbook.*part, truth.value.*part);
    EXPECT_LE(mine, factor * theirs + floor) << what << "; the textbook is off by " << theirs;
  }
};

void check(const Case& c, torch::Device device = torch::kCPU) {
  const AttentionInputs inputs = make_inputs(c);
  const torch::Tensor gradient = torch::randn(inputs.q_BHTD.sizes()).to(c.type);
  const LoopResult truth = loop_attention(inputs, gradient);
  const PlainResult textbook = textbook_attention(inputs, gradient);
  for (const AttentionKernel& kernel : tested_kernels(device)) {
    if (!kernel.supports(describe_problem(inputs), device)) continue;
    SCOPED_TRACE(cat("kernel ", kernel.name, ", ", c.text()));
    const PlainResult found = run_kernel(inputs, kernel, gradient, device);
    const Bound bound{found, textbook, truth};
    bound.check("output", &PlainResult::output, 2);
    // Whatever the inputs, row sums are kept in fp32: 1e-5 of a log.
    EXPECT_LT(error(found.lse, truth.value.lse), 1e-5) << "log-sum-exp";
    bound.check("gradient of q", &PlainResult::q, 3);
    bound.check("gradient of k", &PlainResult::k, 3);
    bound.check("gradient of v", &PlainResult::v, 3);
    if (!c.learned) continue;
    bound.check("gradient of slopes", &PlainResult::slopes, 3);
    bound.check("gradient of the table", &PlainResult::table, 3);
    bound.check("gradient of terms", &PlainResult::terms, 3);
  }
}

constexpr BiasForms kForms[] = {{},
                                {.slopes = true},
                                {.table = true},
                                {.terms = true},
                                {.slopes = true, .table = true, .terms = true}};

// All settings at all sizes; head counts, widths and the length of the cache are drawn, so that no
// setting meets the same ones at every size.
void check_all(torch::ScalarType type, torch::Device device = torch::kCPU) {
  const std::int64_t cached[] = {0, 1, 37}, widths[] = {8, 16, 24, 32, 40, 64};
  const RandomKey key = RandomKey{7}.with("cases");
  std::set<std::int64_t> tiled_widths;
  std::uint64_t turn = 0;
  const auto draw = [&](std::size_t choices) {
    return static_cast<std::size_t>(uniform(key, turn++) * static_cast<double>(choices));
  };
  for (const std::int64_t size : kSizes) {
    for (const BiasForms& bias : kForms) {
      for (const bool documents : {false, true}) {
        for (const double dropout : {0.0, 0.25}) {
          for (const bool learned : {true, false}) {
            if (!learned && !bias.slopes) continue;
            Case c{.queries = size, .bias = bias, .documents = documents, .dropout = dropout};
            c.learned = learned;
            c.keys = size + cached[draw(3)];
            c.width = widths[draw(6)];
            c.heads = draw(5) == 0 ? 4 : 2;
            c.groups = draw(2) == 0 ? c.heads : c.heads / 2;
            c.type = type;
            if (bias == kForms[1] && !learned && dropout == 0) tiled_widths.insert(c.width);
            check(c, device);
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
  EXPECT_EQ(tiled_widths.size(), std::size(widths)) << "each width meets the tiled kernels";
}

// The widths that models have; one size that is a whole tile and more.
TEST(AttentionKernels, EqualTheFormulaAtEveryWidth) {
  for (const torch::ScalarType type : {torch::kFloat, torch::kBFloat16}) {
    for (const std::int64_t width : {8, 40, 64, 80, 128, 256})
      check({.queries = 129, .keys = 129, .width = width, .learned = false, .type = type});
  }
}

// Training may take a slope below 0: nothing may be skipped for being far.
TEST(AttentionKernels, EqualTheFormulaWithASlopeBelowZero) {
  for (const torch::ScalarType type : {torch::kFloat, torch::kBFloat16})
    check({.queries = 300, .keys = 300, .rising = true, .type = type});
}

// What a query sees is drawn: parts of rules, lists, documents and a past in every combination, for
// all heads or for one. Every kernel that knows it against the formula.
TEST(AttentionKernels, EqualTheFormulaWhateverIsVisible) {
  const RandomKey key = RandomKey{11}.with("visible");
  std::uint64_t turn = 0;
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(uniform(key, turn++) * static_cast<double>(most - least + 1));
  };
  constexpr int kCases = 100;
  std::map<std::string, int> runs;
  std::map<std::string, int> covered;  // windows that hide keys, with what else is drawn
  for (int n = 0; n < kCases; ++n) {
    Case c{.sequences = draw(1, 2), .groups = draw(1, 2), .width = 8 * draw(1, 3)};
    c.queries = draw(0, 4) == 0 ? draw(1, 3) : draw(60, 260);
    c.keys = c.queries + (draw(0, 1) == 0 ? 0 : draw(1, 150));
    c.bias = kForms[n % std::ssize(kForms)];
    c.documents = draw(0, 2) == 0;
    c.document_length = draw(5, 150);
    KeyParts& shown = c.shown;
    if (draw(0, 2) > 0) {
      shown.window = draw(1, 100);
      shown.dilation = draw(0, 2) == 0 ? draw(2, 150) : 1;
    }
    if (draw(0, 3) == 0) shown.segment = draw(1, 200);
    c.list = shown.window + shown.segment == 0 || draw(0, 3) == 0;
    if (draw(0, 3) == 0) shown.stride = draw(1, 200);
    if (draw(0, 3) == 0) shown.columns = draw(1, shown.period = draw(1, 200));
    if (draw(0, 2) == 0) shown.global = draw(1, 100);
    c.one_shown = draw(0, 1) == 0;
    c.type = draw(0, 1) == 0 ? torch::kFloat : torch::kBFloat16;
    check(c);
    if (testing::Test::HasFailure()) return;
    const std::int64_t whole = c.documents ? c.document_length : c.keys;
    if (c.queries >= 60 && shown.window > 0 && shown.window < std::min(whole, c.keys)) {
      covered["dilation"] += shown.dilation > 1 ? 1 : 0;
      covered["stride"] += shown.stride > 0 ? 1 : 0;
      covered["columns"] += shown.columns > 0 ? 1 : 0;
      covered["one head"] += c.one_shown ? 1 : 0;
      covered["documents"] += c.documents ? 1 : 0;
      covered["past"] += c.keys > c.queries ? 1 : 0;
      covered["bf16"] += c.type == torch::kBFloat16 ? 1 : 0;
      covered["terms in bf16"] += c.bias.terms && c.type == torch::kBFloat16 ? 1 : 0;
      covered["terms with a past"] += c.bias.terms && c.keys > c.queries ? 1 : 0;
    }
    const AttentionProblem problem = describe_problem(make_inputs(c));
    for (const AttentionKernel& kernel : attention_kernels())
      runs[kernel.name] += kernel.supports(problem, torch::kCPU) ? 1 : 0;
  }
  EXPECT_EQ(runs["reference"], kCases);
  EXPECT_EQ(runs["plain"], kCases) << "tiled kernels know all of it";
  for (const char* what : {"documents", "past", "bf16", "terms in bf16", "terms with a past",
                           "dilation", "stride", "columns", "one head"})
    EXPECT_GE(covered[what], 2) << what;
}

// Blocks that no query sees are not visited: a window costs what it shows.
TEST(AttentionKernels, VisitWhatAWindowShowsOnly) {
  Case c{.sequences = 1, .heads = 1, .groups = 1, .queries = 1024, .keys = 1024};
  c.bias = {};
  c.shown.window = 128;
  c.shown.global = 16;
  const AttentionInputs inputs = make_inputs(c);
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (kernel.tiles == nullptr || !kernel.supports(describe_problem(inputs), torch::kCPU))
      continue;
    const torch::Tensor visited = torch::zeros({1, 1, 16}, torch::kInt32);
    tiled_attention_forward(*kernel.tiles, inputs, visited);
    for (std::int64_t n = 0; n < 16; ++n)  // its own, two more of the window, the first
      EXPECT_EQ(visited[0][0][n].item<int>(), std::min<std::int64_t>(n + 1, 4)) << kernel.name;
  }
}

// Neither forward nor backward reads a block that no query of it sees: what is not a number there
// spreads to those that see it, and no further. Seen failing with blocks of all keys, masked.
TEST(AttentionKernels, ReadNoBlockThatIsHidden) {
  for (const torch::ScalarType type : {torch::kFloat, torch::kBFloat16}) {
    Case c{.sequences = 1, .queries = 512, .keys = 512, .type = type};
    c.bias = {};
    c.shown.window = kTile;
    const AttentionInputs inputs = make_inputs(c);
    for (const torch::Tensor& x : {inputs.k_BGSD, inputs.v_BGSD})
      x.narrow(2, 0, kTile).fill_(std::numeric_limits<double>::quiet_NaN());
    const torch::Tensor gradient = torch::randn(inputs.q_BHTD.sizes()).to(type);
    for (const AttentionKernel& kernel : attention_kernels()) {
      if (kernel.tiles == nullptr || !kernel.supports(describe_problem(inputs), torch::kCPU))
        continue;
      const PlainResult found = run_kernel(inputs, kernel, gradient, torch::kCPU);
      for (const torch::Tensor& x : {found.output, found.q, found.k, found.v}) {
        EXPECT_FALSE(x.narrow(2, 0, kTile).isfinite().any().item<bool>()) << kernel.name;
        EXPECT_TRUE(x.narrow(2, 2 * kTile, 512 - 2 * kTile).isfinite().all().item<bool>())
            << kernel.name;
      }
    }
  }
}

class AttentionCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (!open_cuda_library().usable) GTEST_SKIP() << open_cuda_library().reason;
    ASSERT_NE(cuda_kernels().module, nullptr) << cuda_kernels().reason;
    ASSERT_NE(cudnn_kernels().module, nullptr) << cudnn_kernels().reason;
  }
};

TEST_F(AttentionCuda, KernelsEqualTheFormula) {
  for (const torch::ScalarType type : {torch::kBFloat16, torch::kFloat})
    check_all(type, torch::kCUDA);
}

TEST_F(AttentionCuda, KernelsEqualTheFormulaAtEveryWidthAndFarFromTheirKeys) {
  for (const std::int64_t width : {8, 40, 64, 80, 96, 128, 160, 192, 256}) {
    Case c{.queries = 129, .keys = 129, .width = width};
    c.learned = false;
    c.type = torch::kBFloat16;
    check(c, torch::kCUDA);
    c.queries = 3;
    c.keys = 20'000;
    check(c, torch::kCUDA);
  }
}

TEST(AttentionKernels, EqualTheFormulaInFp32) { check_all(torch::kFloat); }
TEST(AttentionKernels, EqualTheFormulaInBf16) { check_all(torch::kBFloat16); }
TEST(AttentionKernels, EqualTheFormulaInFp64) { check_all(torch::kDouble); }

TEST(AttentionKernels, EqualTheFormulaAtOneThousandAndFarFromTheirKeys) {
  for (const torch::ScalarType type : {torch::kFloat, torch::kBFloat16}) {
    for (const bool learned : {false, true}) {
      check({.sequences = 1, .queries = 1000, .keys = 1000, .learned = learned, .type = type});
      check({.sequences = 1,
             .groups = 1,
             .queries = 3,
             .keys = 20'000,
             .learned = learned,
             .type = type});
    }
  }
}

// So many key blocks that some share a part of a table's gradient.
TEST(AttentionKernels, EqualTheFormulaWhereKeyBlocksShareATable) {
  for (const torch::ScalarType type : {torch::kFloat, torch::kBFloat16}) {
    check({.sequences = 1,
           .queries = 1200,
           .keys = 1200,
           .bias = kForms[4],
           .shown = {.window = 1150},
           .type = type});
  }
}

// Central differences of sum(output * weight) in one argument.
void expect_derivative(const char* what, AttentionInputs inputs, torch::Tensor& argument,
                       const AttentionKernel& kernel) {
  const torch::Tensor weight = torch::randn(inputs.q_BHTD.sizes(), torch::kDouble);
  argument.mutable_grad() = torch::Tensor();
  (attention(inputs, kernel, false) * weight).sum().backward();
  const torch::Tensor found = argument.grad().flatten();
  const torch::NoGradGuard guard;
  constexpr double kStep = 1e-5;  // truncation and rounding both stay near 1e-10
  for (std::int64_t n = 0; n < argument.numel(); ++n) {
    torch::Tensor element = argument.view(-1)[n];
    const auto value_at = [&](double move) {
      element.add_(move);
      const double value = (kernel.forward(inputs).output_BHTD * weight).sum().item<double>();
      element.sub_(move);
      return value;
    };
    const double slope = (value_at(kStep) - value_at(-kStep)) / (2 * kStep);
    ASSERT_NEAR(found[n].item<double>(), slope, 1e-6) << what << ", element " << n;
  }
}

TEST(AttentionKernels, GradientsAreFiniteDifferencesInFp64) {
  for (const AttentionKernel& kernel : attention_kernels()) {
    for (const BiasForms& bias : kForms) {
      for (const bool documents : {false, true}) {
        for (const double dropout : {0.0, 0.3}) {
          const Case c{.groups = 1,
                       .queries = 10,
                       .keys = 13,
                       .width = 3,
                       .bias = bias,
                       .documents = documents,
                       .dropout = dropout,
                       .type = torch::kDouble};
          AttentionInputs inputs = make_inputs(c);
          if (!kernel.supports(describe_problem(inputs), torch::kCPU)) continue;
          SCOPED_TRACE(cat("kernel ", kernel.name, ", ", c.text()));
          for (torch::Tensor* x : {&inputs.q_BHTD, &inputs.k_BGSD, &inputs.v_BGSD})
            x->requires_grad_();
          expect_derivative("q", inputs, inputs.q_BHTD, kernel);
          expect_derivative("k", inputs, inputs.k_BGSD, kernel);
          expect_derivative("v", inputs, inputs.v_BGSD, kernel);
          ScoreBias& b = inputs.options.bias;
          if (b.slopes_H.defined()) expect_derivative("slopes", inputs, b.slopes_H, kernel);
          if (b.table_HL.defined()) expect_derivative("table", inputs, b.table_HL, kernel);
          if (b.terms_BHS.defined()) expect_derivative("terms", inputs, b.terms_BHS, kernel);
        }
      }
    }
  }
}

}  // namespace
}  // namespace alibi
