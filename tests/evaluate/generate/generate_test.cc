#include "evaluate/generate/generate.h"
#include "device/libtorch.h"

#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include "base/stop.h"
#include "support/error_text.h"
#include "support/tiny_model.h"
#include "text/tokenizer.h"

namespace alibi {
namespace {

// Logarithms of 0.5, 0.05, 0.3, 0.15.
const std::vector<float> kLogits = {std::log(0.5f), std::log(0.05f), std::log(0.3f),
                                    std::log(0.15f)};

std::vector<int> counts(const SampleOptions& options, std::span<const std::int32_t> banned = {},
                        std::int64_t draws = 20'000) {
  std::vector<int> found(kLogits.size(), 0);
  for (std::int64_t i = 0; i < draws; ++i)
    ++found[static_cast<std::size_t>(sample(kLogits, options, i, banned))];
  return found;
}

// 16.3 is passed by chance once in a thousand, with 3 degrees of freedom; the draws are fixed.
void expect_shares(const std::vector<int>& found, const std::vector<double>& shares) {
  double total = 0, chi_square = 0, all = 0;
  for (const double share : shares) total += share;
  for (const int count : found) all += count;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double expected = all * shares[i] / total;
    if (shares[i] == 0) {
      EXPECT_EQ(found[i], 0) << "token " << i;
    } else {
      chi_square += (found[i] - expected) * (found[i] - expected) / expected;
    }
  }
  EXPECT_LT(chi_square, 16.3);
}

TEST(Sample, DrawsFromTheSoftmax) { expect_shares(counts({}), {0.5, 0.05, 0.3, 0.15}); }

TEST(Sample, TemperatureIsAPowerOfTheShares) {
  expect_shares(counts({.temperature = 0.5}), {0.25, 0.0025, 0.09, 0.0225});
  expect_shares(counts({.temperature = 2}),
                {std::sqrt(0.5), std::sqrt(0.05), std::sqrt(0.3), std::sqrt(0.15)});
  EXPECT_EQ(counts({.temperature = 0}), (std::vector<int>{20'000, 0, 0, 0}));
}

TEST(Sample, TopKKeepsTheLikeliest) {
  expect_shares(counts({.top_k = 2}), {0.5, 0, 0.3, 0});
  expect_shares(counts({.top_k = 3}), {0.5, 0, 0.3, 0.15});
  expect_shares(counts({.top_k = 100}), {0.5, 0.05, 0.3, 0.15});
}

TEST(Sample, TopPKeepsTheSmallestSetWithThatShare) {
  expect_shares(counts({.top_p = 0.49}), {0.5, 0, 0, 0});
  expect_shares(counts({.top_p = 0.51}), {0.5, 0, 0.3, 0});
  expect_shares(counts({.top_p = 0.79}), {0.5, 0, 0.3, 0});
  expect_shares(counts({.top_p = 0.81}), {0.5, 0, 0.3, 0.15});
  // After top-k: 0.6 of what the two best share is less than the best one's part.
  expect_shares(counts({.top_k = 2, .top_p = 0.6}), {0.5, 0, 0, 0});
}

TEST(Sample, NeverDrawsABannedToken) {
  const std::int32_t banned[] = {0, 1};
  expect_shares(counts({}, banned), {0, 0, 0.3, 0.15});
  EXPECT_EQ(sample(kLogits, {.temperature = 0}, 0, banned), 2);
  expect_shares(counts({.top_k = 1}, banned), {0, 0, 0.3, 0});
}

TEST(Sample, IsAFunctionOfSeedAndPosition) {
  const auto draws = [](std::uint64_t seed) {
    std::vector<std::int32_t> all;
    for (std::int64_t i = 0; i < 200; ++i) all.push_back(sample(kLogits, {.seed = seed}, i));
    return all;
  };
  EXPECT_EQ(draws(1), draws(1));
  EXPECT_NE(draws(1), draws(2));
  const std::vector<std::int32_t> one = draws(1);
  EXPECT_GT(std::set<std::int32_t>(one.begin(), one.end()).size(), 1);
}

TEST(Sample, BreaksTiesByTheLowestId) {
  const std::vector<float> flat(5, 1.0f);
  EXPECT_EQ(sample(flat, {.temperature = 0}, 0), 0);
}

const auto kGoOn = [](std::int32_t) { return true; };

TEST(Generate, GreedyIsTheArgmaxOfTheFullForwardPass) {
  Gpt model = tiny_model(tiny_config(Position::kAlibi));
  std::vector<std::int32_t> text = {10, 20, 30, 40, 50};
  GenerateOptions options;
  options.sample.temperature = 0;
  options.tokens = 40;
  options.prefill_chunk = 2;
  options.stop_at_end = false;
  const auto made = generate(model, text, options, torch::kCPU, kGoOn);
  ASSERT_EQ(made.size(), 40);
  for (const std::int32_t id : made) {
    const std::vector<std::int64_t> wide(text.begin(), text.end());
    torch::Tensor last = tiny_logits(model, torch::tensor(wide).unsqueeze(0))[0][-1];
    last.narrow(0, 0, 3).fill_(-INFINITY);  // unknown, begin, end
    ASSERT_EQ(id, last.argmax().item<std::int32_t>()) << "after " << text.size() << " tokens";
    text.push_back(id);
  }
}

TEST(Generate, TheSameSeedGivesTheSameTextInAnyChunks) {
  Gpt model = tiny_model(tiny_config(Position::kRotary));
  const std::vector<std::int32_t> prompt = {5, 6, 7, 8, 9, 10, 11};
  const auto text = [&](std::uint64_t seed, std::int64_t chunk) {
    GenerateOptions options;
    options.sample.seed = seed;
    options.tokens = 30;
    options.stop_at_end = false;
    options.prefill_chunk = chunk;
    return generate(model, prompt, options, torch::kCPU, kGoOn);
  };
  EXPECT_EQ(text(1, 1024), text(1, 1024));
  EXPECT_EQ(text(1, 1024), text(1, 3));
  EXPECT_NE(text(1, 1024), text(2, 1024));
}

// A model whose next token does not depend on its input: the final norm's bias alone reaches the
// head, which prefers `best`, then `second`.
Gpt stubborn(std::int32_t best, std::int32_t second) {
  ModelConfig config = tiny_config(Position::kAlibi);
  config.norm_bias = true;
  config.tied_head = false;
  Gpt model = tiny_model(config);
  const torch::NoGradGuard guard;
  auto weights = model->named_parameters();
  weights["norm.weight"].zero_();
  weights["norm.bias"].fill_(1);
  weights["head"].zero_();
  weights["head"][best].fill_(2);
  weights["head"][second].fill_(1);
  return model;
}

TEST(Generate, StopsAtTheEndTokenUnlessTold) {
  Gpt model = stubborn(Tokenizer::kEnd, 44);
  GenerateOptions options;
  options.sample.temperature = 0;
  options.tokens = 4;
  EXPECT_TRUE(generate(model, {9}, options, torch::kCPU, kGoOn).empty());
  options.stop_at_end = false;
  EXPECT_EQ(generate(model, {9}, options, torch::kCPU, kGoOn),
            (std::vector<std::int32_t>{44, 44, 44, 44}));
}

TEST(Generate, NeverMakesUnknownOrBegin) {
  GenerateOptions options;
  options.sample.temperature = 0;
  options.tokens = 2;
  for (const std::int32_t never : {Tokenizer::kUnknown, Tokenizer::kBegin}) {
    Gpt model = stubborn(never, 12);
    EXPECT_EQ(generate(model, {9}, options, torch::kCPU, kGoOn),
              (std::vector<std::int32_t>{12, 12}));
  }
}

TEST(Generate, ReportsEachTokenAndStopsWhenAsked) {
  Gpt model = tiny_model(tiny_config(Position::kAlibi));
  GenerateOptions options;
  options.stop_at_end = false;
  std::vector<std::int32_t> seen;
  const auto made = generate(model, {9, 8}, options, torch::kCPU, [&](std::int32_t id) {
    seen.push_back(id);
    return seen.size() < 5;
  });
  EXPECT_EQ(made.size(), 5);
  EXPECT_EQ(seen, made);
}

// Also while a long prompt is read, between its chunks.
TEST(Generate, HeedsASignalWhileItReads) {
  Gpt model = tiny_model(tiny_config(Position::kAlibi));
  GenerateOptions options;
  options.prefill_chunk = 4;
  options.stop_at_end = false;
  KeyValueCache cache(model->config().layers);
  const std::vector<std::int32_t> prompt(20, 9);
  request_stop(SIGTERM);
  EXPECT_ERROR_AT(error_text([&] { prefill(model, prompt, 4, cache, torch::kCPU); }), "generate");
  clear_stop();
  EXPECT_EQ(cache.length(), 4);
  EXPECT_EQ(generate(model, prompt, options, torch::kCPU, kGoOn).size(), options.tokens);
}

TEST(Generate, GoesPastAnyLengthWithAlibiAndEndsAtTheTableOfLearnedPositions) {
  GenerateOptions options;
  options.tokens = 300;
  options.stop_at_end = false;
  Gpt alibi = tiny_model(tiny_config(Position::kAlibi));
  EXPECT_EQ(generate(alibi, {9}, options, torch::kCPU, kGoOn).size(), 300);
  Gpt learned = tiny_model(tiny_config(Position::kLearned));  // a table of 256
  const auto run = [&] { generate(learned, {9}, options, torch::kCPU, kGoOn); };
  EXPECT_ERROR_AT(error_text(run), "model.max_sequence_length", 257, 256);
  options.tokens = 256;
  EXPECT_EQ(generate(learned, {9}, options, torch::kCPU, kGoOn).size(), 256);
}

}  // namespace
}  // namespace alibi
