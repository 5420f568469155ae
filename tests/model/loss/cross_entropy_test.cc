#include "model/loss/cross_entropy.h"
#include "device/libtorch.h"

#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>

#include "device/memory.h"
#include "kernels/processor.h"

namespace alibi {
namespace {

struct Example {
  torch::Tensor hidden_NC, weight_VC, targets_N;
};

Example example(std::int64_t rows, std::int64_t width, std::int64_t vocabulary,
                torch::ScalarType type = torch::kFloat) {
  torch::manual_seed(3);
  return {torch::randn({rows, width}, torch::kDouble).to(type).requires_grad_(),
          torch::randn({vocabulary, width}, torch::kDouble)
              .to(type == torch::kDouble ? torch::kDouble : torch::kFloat)
              .requires_grad_(),
          torch::randint(0, vocabulary, {rows}, torch::kLong)};
}

struct Result {
  double loss;
  torch::Tensor hidden, weight;  // gradients, fp64
};

Result run(const Example& e, const std::function<torch::Tensor(const Example&)>& loss_of) {
  Example copy{e.hidden_NC.detach().clone().requires_grad_(),
               e.weight_VC.detach().clone().requires_grad_(), e.targets_N};
  const torch::Tensor loss = loss_of(copy);
  (2.5 * loss).backward();  // a factor that backward must carry through
  return {loss.item<double>(), copy.hidden_NC.grad().to(torch::kDouble),
          copy.weight_VC.grad().to(torch::kDouble)};
}

Result chunked(const Example& e, std::int64_t chunk) {
  return run(e, [chunk](const Example& x) {
    return cross_entropy(x.hidden_NC, x.weight_VC, x.targets_N, chunk);
  });
}

// LibTorch's own, with all logits at once, in the type that `like` converts to.
Result library(const Example& e, torch::ScalarType type) {
  return run(e, [type](const Example& x) {
    const torch::Tensor logits = at::linear(x.hidden_NC.to(type), x.weight_VC.to(type));
    return torch::nn::functional::cross_entropy(
        logits.to(type == torch::kDouble ? torch::kDouble : torch::kFloat), x.targets_N);
  });
}

double error(const torch::Tensor& found, const torch::Tensor& expected) {
  return (found - expected).abs().max().item<double>();
}

TEST(CrossEntropy, EqualsTheLibrarysForAnyChunk) {
  const Example e = example(101, 24, 333);
  const Result expected = library(e, torch::kFloat);
  for (const std::int64_t chunk : {1, 7, 64, 101, 1000}) {
    const Result found = chunked(e, chunk);
    EXPECT_NEAR(found.loss / expected.loss, 1, 1e-6) << chunk;
    EXPECT_LT(error(found.hidden, expected.hidden), 1e-6) << chunk;
    EXPECT_LT(error(found.weight, expected.weight), 1e-6) << chunk;
  }
}

TEST(CrossEntropy, KeepsLargeLogitsFinite) {
  Example e = example(20, 8, 50);
  e.hidden_NC = (e.hidden_NC.detach() * 1e4).requires_grad_();
  const Result found = chunked(e, 6), expected = library(e, torch::kDouble);
  EXPECT_NEAR(found.loss / expected.loss, 1, 1e-5);
  EXPECT_TRUE(found.hidden.isfinite().all().item<bool>());
  EXPECT_LT(error(found.hidden, expected.hidden),
            1e-3 * expected.hidden.abs().max().item<double>());
}

TEST(CrossEntropy, GradientsAreFiniteDifferencesInFp64) {
  const Example e = example(9, 5, 11, torch::kDouble);
  const Result found = chunked(e, 4);
  const torch::NoGradGuard guard;
  for (const bool weight : {false, true}) {
    torch::Tensor flat = (weight ? e.weight_VC : e.hidden_NC).view(-1);
    const torch::Tensor gradient = (weight ? found.weight : found.hidden).view(-1);
    for (std::int64_t n = 0; n < flat.numel(); ++n) {
      const auto loss_at = [&](double move) {
        flat[n] += move;
        const double loss = cross_entropy(e.hidden_NC, e.weight_VC, e.targets_N, 4).item<double>();
        flat[n] -= move;
        return 2.5 * loss;
      };
      const double slope = (loss_at(1e-5) - loss_at(-1e-5)) / 2e-5;
      EXPECT_NEAR(gradient[n].item<double>(), slope, 1e-6) << (weight ? "weight " : "hidden ") << n;
    }
  }
}

TEST(CrossEntropy, Bf16RoundsNoMoreThanTheLibraryDoes) {
  const Example e = example(200, 64, 500, torch::kBFloat16);
  const Result truth = library(e, torch::kDouble), textbook = library(e, torch::kBFloat16),
               found = chunked(e, 64);
  EXPECT_NEAR(found.loss, truth.loss, 2 * std::abs(textbook.loss - truth.loss) + 1e-4);
  EXPECT_LE(error(found.hidden, truth.hidden), 3 * error(textbook.hidden, truth.hidden));
  EXPECT_LE(error(found.weight, truth.weight), 3 * error(textbook.weight, truth.weight));
}

// Cross-entropy + z * mean of log(sum exp(logits))^2, with all logits at once in fp64.
Result library_with_z(const Example& e, double z) {
  return run(e, [z](const Example& x) {
    const torch::Tensor logits =
        at::linear(x.hidden_NC.to(torch::kDouble), x.weight_VC.to(torch::kDouble));
    return torch::nn::functional::cross_entropy(logits, x.targets_N) +
           z * logits.logsumexp(1).square().mean();
  });
}

// Seen failing with the gradient's factor left out of either chunk function.
TEST(ZLoss, EqualsTheFormulaOnEveryPath) {
  for (const auto type : {torch::kDouble, torch::kFloat, torch::kBFloat16}) {
    const Example e = example(120, 32, 300, type);
    for (const double z : {0.0, 1e-3, 0.1}) {
      const auto mine = [z](const Example& x) {
        return training_loss(x.hidden_NC, x.weight_VC, x.targets_N, {.chunk_rows = 50, .z_loss = z})
            .objective;
      };
      const Result truth = library_with_z(e, z), found = run(e, mine);
      const double most = type == torch::kBFloat16 ? 2e-2 : type == torch::kFloat ? 1e-5 : 1e-10;
      EXPECT_NEAR(found.loss / truth.loss, 1, most) << type << z;
      for (const auto& [a, b] :
           {std::pair(found.hidden, truth.hidden), {found.weight, truth.weight}})
        EXPECT_LT(error(a, b), most * b.abs().max().item<double>()) << type << z;
    }
  }
}

// A row without a target is as if it were not there, on every path. Seen failing with its loss, its
// z-loss or its gradient counted.
TEST(CrossEntropy, RowsLeftOutCountNothing) {
  for (const auto type : {torch::kDouble, torch::kFloat, torch::kBFloat16}) {
    Example e = example(120, 32, 300, type);
    const torch::Tensor kept = (torch::arange(120) % 3 != 1).nonzero().squeeze(1);
    const Example rest{e.hidden_NC.detach().index_select(0, kept).requires_grad_(), e.weight_VC,
                       e.targets_N.index_select(0, kept)};
    e.targets_N.masked_fill_(torch::arange(120) % 3 == 1, -1);
    for (const double z : {0.0, 0.1}) {
      const auto mine = [z](const Example& x) {
        LossOptions options{.chunk_rows = 50, .z_loss = z};
        options.left_out = true;
        options.divisor = 80;
        return training_loss(x.hidden_NC, x.weight_VC, x.targets_N, options).objective;
      };
      const Result truth = library_with_z(rest, z), found = run(e, mine);
      const double most = type == torch::kBFloat16 ? 3e-2 : type == torch::kFloat ? 1e-5 : 1e-10;
      EXPECT_NEAR(found.loss / truth.loss, 1, most) << type << z;
      EXPECT_LT(error(found.weight, truth.weight), most * truth.weight.abs().max().item<double>());
      EXPECT_LT(error(found.hidden.index_select(0, kept), truth.hidden),
                most * truth.hidden.abs().max().item<double>());
      EXPECT_EQ(found.hidden.abs().sum().item<double>(),
                found.hidden.index_select(0, kept).abs().sum().item<double>());
    }
  }
}

// Seen failing without the check. (A device is not asked: it would have to be waited for.)
TEST(CrossEntropy, WhereBackwardStartsItsFactorIsOne) {
  const Example e = example(30, 8, 40);
  const auto gradients = [&](bool starts, double factor) {
    return run(e, [&](const Example& x) {
      const LossOptions options{.chunk_rows = 7, .z_loss = 0.5, .starts_backward = starts};
      return factor * training_loss(x.hidden_NC, x.weight_VC, x.targets_N, options).objective;
    });
  };
  // run() takes 2.5 times of it.
  const Result usual = gradients(false, 0.4), start = gradients(true, 0.4);
  EXPECT_TRUE(torch::equal(start.hidden, usual.hidden));
  EXPECT_TRUE(torch::equal(start.weight, usual.weight));
  EXPECT_DEATH(gradients(true, 1), "backward starts");
}

TEST(ZLoss, IsNoPartOfTheCrossEntropyThatIsReported) {
  const Example e = example(30, 8, 40);
  const TrainingLoss with =
      training_loss(e.hidden_NC, e.weight_VC, e.targets_N, {.chunk_rows = 7, .z_loss = 0.5});
  const double plain = cross_entropy(e.hidden_NC, e.weight_VC, e.targets_N, 7).item<double>();
  EXPECT_EQ(with.cross_entropy.item<double>(), plain);
  EXPECT_FALSE(with.cross_entropy.requires_grad());
  EXPECT_GT(with.objective.item<double>(), plain + 0.1);
}

TEST(CrossEntropy, WorksWithoutGradients) {
  const Example e = example(30, 8, 40);
  const double expected = cross_entropy(e.hidden_NC, e.weight_VC, e.targets_N, 7).item<double>();
  const torch::NoGradGuard guard;
  const torch::Tensor loss = cross_entropy(e.hidden_NC, e.weight_VC, e.targets_N, 7);
  EXPECT_FALSE(loss.requires_grad());
  EXPECT_EQ(loss.item<double>(), expected);
}

TEST(CrossEntropy, IsTheSameBitsForAnyThreadCount) {
  const Example e = example(700, 64, 514, torch::kBFloat16);
  std::vector<Result> all;
  for (const int threads : {1, 2, 5}) {
    torch::set_num_threads(threads);
    all.push_back(chunked(e, 256));
    EXPECT_EQ(all.back().loss, all.front().loss) << threads;
    EXPECT_TRUE(torch::equal(all.back().hidden, all.front().hidden)) << threads;
    EXPECT_TRUE(torch::equal(all.back().weight, all.front().weight)) << threads;
  }
  torch::set_num_threads(1);
}

TEST(CrossEntropy, NeverStoresAllLogits) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer keeps freed memory for a while";
#endif
  constexpr std::int64_t kRows = 8192, kVocabulary = 8192;
  constexpr std::int64_t kLogits = kRows * kVocabulary * 4;  // 256 MiB
  const Example e = example(kRows, 16, kVocabulary);
  reset_peak_memory(torch::kCPU);
  std::int64_t before = peak_memory_bytes(torch::kCPU);
  torch::ones({kRows, kVocabulary / 2});
  if (peak_memory_bytes(torch::kCPU) - before < kLogits / 3)
    GTEST_SKIP() << "the peak of memory cannot be measured anew here";
  reset_peak_memory(torch::kCPU);
  before = peak_memory_bytes(torch::kCPU);
  cross_entropy(e.hidden_NC, e.weight_VC, e.targets_N, 256).backward();
  EXPECT_LT(peak_memory_bytes(torch::kCPU) - before, kLogits / 3);
}

TEST(TokenLosses, AverageToTheCrossEntropyWhateverTheChunk) {
  const Example e = example(77, 16, 90);
  const double mean = cross_entropy(e.hidden_NC, e.weight_VC, e.targets_N, 10).item<double>();
  for (const std::int64_t chunk : {1, 8, 77, 500}) {
    const torch::Tensor losses = token_losses(e.hidden_NC, e.weight_VC, e.targets_N, chunk);
    ASSERT_EQ(losses.sizes(), (std::vector<std::int64_t>{77}));
    EXPECT_FALSE(losses.requires_grad());
    EXPECT_NEAR(losses.mean().item<double>() / mean, 1, 1e-6) << chunk;
  }
  const torch::Tensor each = torch::nn::functional::cross_entropy(
      at::linear(e.hidden_NC, e.weight_VC), e.targets_N,
      torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
  EXPECT_LT(error(token_losses(e.hidden_NC, e.weight_VC, e.targets_N, 9), each), 1e-5);
}

TEST(TokenLosses, TakeBf16HiddenStatesToFp32Logits) {
  const Example e = example(50, 32, 60, torch::kBFloat16);
  const torch::Tensor found = token_losses(e.hidden_NC, e.weight_VC, e.targets_N, 16);
  EXPECT_EQ(found.scalar_type(), torch::kFloat);
  EXPECT_LT(error(found, token_losses(e.hidden_NC.to(torch::kFloat), e.weight_VC, e.targets_N, 50)),
            1e-5);
}

// Seen failing with the option ignored: the bits were the same.
TEST(CrossEntropy, PacksItsWeightUnlessToldOtherwise) {
  if (!has_avx512_bf16()) GTEST_SKIP() << "no bf16 instructions here";
  const torch::Tensor hidden_NC = torch::randn({96, 64}).to(torch::kBFloat16);
  const torch::Tensor weight_VC = torch::randn({300, 64}).requires_grad_();
  const torch::Tensor targets_N = torch::randint(300, {96}, torch::kLong);
  const auto gradient = [&](bool packs) {
    weight_VC.mutable_grad() = torch::Tensor();
    training_loss(hidden_NC, weight_VC, targets_N, {.packs = packs}).objective.backward();
    return weight_VC.grad().clone();
  };
  const torch::Tensor packed_VC = gradient(true), libtorch_VC = gradient(false);
  EXPECT_FALSE(torch::equal(packed_VC, libtorch_VC));
  EXPECT_LT(((packed_VC - libtorch_VC).norm() / libtorch_VC.norm()).item<double>(), 0.02);
}

}  // namespace
}  // namespace alibi
