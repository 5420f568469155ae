// The one-pass norm against the formula in fp64; where a processor lacks bf16 instructions there is
// none, and LibTorch's sums are coarser.
#include "model/layer_norm.h"
#include "device/libtorch.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "kernels/processor.h"

namespace alibi {
namespace {

struct Example {
  LayerNorm norm;
  torch::Tensor x, dsame, dnormed;

  Example(std::int64_t rows, std::int64_t width, bool biased) {
    torch::manual_seed(static_cast<std::uint64_t>(rows * 31 + width));
    norm = {1 + torch::randn({width}) / 4, biased ? torch::randn({width}) : torch::Tensor(), 1e-5};
    // Far from zero beside its spread: sums of squares alone would lose the variance.
    x = (torch::randn({2, rows, width}) + 30).to(torch::kBFloat16);
    dsame = torch::randn_like(x);
    dnormed = torch::randn_like(x);
  }
};

// y, then the gradients of x, gains and biases, of sum(same * dsame + normed * dnormed).
std::vector<torch::Tensor> results(const Example& e, torch::ScalarType type) {
  const auto leaf = [](const torch::Tensor& x) {
    return x.defined() ? x.clone().requires_grad_(true) : x;
  };
  const torch::Tensor x = leaf(e.x.to(type));
  const auto gain_type = type == torch::kBFloat16 ? torch::kFloat : type;
  const torch::Tensor weight_C = leaf(e.norm.weight_C.to(gain_type));
  const torch::Tensor bias_C =
      e.norm.bias_C.defined() ? leaf(e.norm.bias_C.to(gain_type)) : torch::Tensor();
  const NormFork both = fork_norm(x, {weight_C, bias_C, e.norm.epsilon});
  std::vector<torch::Tensor> of{x, weight_C};
  if (bias_C.defined()) of.push_back(bias_C);
  std::vector<torch::Tensor> all =
      torch::autograd::grad({both.same, both.normed}, of, {e.dsame.to(type), e.dnormed.to(type)});
  all.insert(all.begin(), both.normed);
  return all;
}

double relative_error(const torch::Tensor& found, const torch::Tensor& exact) {
  return (found.to(torch::kDouble) - exact).norm().item<double>() / exact.norm().item<double>();
}

TEST(ForkNorm, IsTheFormulaWithBothGradients) {
  if (!has_avx512_bf16()) GTEST_SKIP() << "no bf16 instructions here";
  for (const std::int64_t width : {8, 16, 40, 64, 520})
    for (const std::int64_t rows : {1, 3, 150})
      for (const bool biased : {false, true}) {
        const Example e(rows, width, biased);
        const auto found = results(e, torch::kBFloat16), exact = results(e, torch::kDouble);
        ASSERT_EQ(found.size(), exact.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          const bool sums = i > 1;  // gains' and biases' gradients stay fp32
          EXPECT_LT(relative_error(found[i], exact[i]), sums ? 1e-5 : 4e-3)
              << cat(rows, " x ", width, " biased ", int(biased), " result ", i);
        }
      }
}

TEST(ForkNorm, IsTheSameBitsForAnyThreadCount) {
  if (!has_avx512_bf16()) GTEST_SKIP() << "no bf16 instructions here";
  const Example e(1000, 72, true);
  std::vector<torch::Tensor> first;
  for (const int threads : {1, 2, 5}) {
    torch::set_num_threads(threads);
    const auto found = results(e, torch::kBFloat16);
    if (first.empty()) first = found;
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_TRUE(torch::equal(first[i], found[i])) << threads << " threads, result " << i;
  }
  torch::set_num_threads(1);
}

TEST(ForkNorm, WorksWithoutAGraphAndWithOneGradientOnly) {
  const Example e(5, 32, false);
  const torch::Tensor expected = results(e, torch::kBFloat16)[0];
  {
    const torch::NoGradGuard guard;
    EXPECT_TRUE(torch::equal(layer_norm(e.x, e.norm), expected.detach()));
    EXPECT_EQ(layer_norm(e.x.narrow(1, 0, 0), e.norm).numel(), 0);
  }
  const torch::Tensor x = e.x.clone().requires_grad_(true);
  const NormFork both = fork_norm(x, e.norm);
  const auto same = torch::autograd::grad({both.same}, {x}, {e.dsame}, true);
  EXPECT_TRUE(torch::equal(same[0], e.dsame));
  const auto normed = torch::autograd::grad({both.normed}, {x}, {e.dnormed});
  const Example other = [&] {
    Example changed = e;
    changed.dsame = torch::zeros_like(e.dsame);
    return changed;
  }();
  EXPECT_TRUE(torch::equal(normed[0], results(other, torch::kBFloat16)[1]));
}

}  // namespace
}  // namespace alibi
