// Texts that are made together are those made alone.
#include "evaluate/generate/batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "device/libtorch.h"
#include "support/tiny_model.h"

namespace alibi {
namespace {

std::int64_t drawn(const char* what, std::int64_t number, std::int64_t count) {
  return static_cast<std::int64_t>(
      uniform(RandomKey{7}.with(what), static_cast<std::uint64_t>(number)) *
      static_cast<double>(count));
}

std::vector<Request> requests(std::int64_t count, double temperature) {
  std::vector<Request> all;
  for (std::int64_t n = 0; n < count; ++n) {
    Request one{.number = n, .prompt = {2}, .tokens = 1 + drawn("tokens", n, 40), .sample = {}};
    const std::int64_t length = drawn("length", n, 200);
    const char* tokens = n % 3 == 0 ? "common" : "own";  // a third begins with the same tokens
    for (std::int64_t i = 0; i < length; ++i)
      one.prompt.push_back(static_cast<std::int32_t>(
          3 + drawn(tokens, n % 3 == 0 ? i : 100 * n + i, kTinyVocabulary - 3)));
    one.sample.temperature = temperature;
    one.sample.seed = static_cast<std::uint64_t>(n);
    all.push_back(one);
  }
  return all;
}

struct Made {
  std::map<std::int64_t, Completion> by_number;
  std::vector<std::int64_t> order;
  BatchUse use;
};

Made make(Gpt& model, const GenerateOptions& options, const std::vector<Request>& wanted,
          std::int64_t parallel) {
  Made made;
  std::size_t next = 0;
  made.use = generate_batch(
      model, options, parallel, torch::kCPU,
      [&]() -> std::optional<Request> {
        if (next == wanted.size()) return std::nullopt;
        return wanted[next++];
      },
      [&](Completion completion) {
        made.order.push_back(completion.number);
        made.by_number[completion.number] = std::move(completion);
      },
      [] { return false; });
  return made;
}

// Seen failing with a batch whose sequences draw by their place in it.
TEST(GenerateBatch, MakesWhatEachRequestAloneMakes) {
  for (const Position position : {Position::kAlibi, Position::kForgetting, Position::kLearned}) {
    Gpt model = tiny_model(tiny_config(position));
    for (const double temperature : {0.0, 1.0}) {
      const std::vector<Request> wanted = requests(18, temperature);
      GenerateOptions options;
      const Made made = make(model, options, wanted, 6);
      ASSERT_EQ(made.by_number.size(), wanted.size());
      EXPECT_FALSE(std::ranges::is_sorted(made.order)) << "short ones leave first";
      EXPECT_GT(made.use.shared_tokens, 0);
      bool ends = false;
      for (const Request& one : wanted) {
        GenerateOptions alone = options;
        alone.sample = one.sample;
        alone.tokens = one.tokens;
        const auto expected =
            generate(model, one.prompt, alone, torch::kCPU, [](std::int32_t) { return true; });
        const Completion& found = made.by_number.at(one.number);
        EXPECT_EQ(found.tokens, expected) << name_of(position) << ", request " << one.number;
        EXPECT_EQ(found.ended, std::ssize(expected) < one.tokens);
        ends = ends || found.ended;
      }
      EXPECT_TRUE(ends || temperature == 0) << "none ended before its length";
    }
  }
}

// In bf16, where a prompt that is read from another place on would be rounded otherwise. Seen
// failing with pages of 8 positions that are shared each by itself.
TEST(GenerateBatch, MakesTheSameBesideAnyOthers) {
  ModelConfig config = tiny_config(Position::kAlibi);
  config.width = 128;
  Gpt model = tiny_model(config, torch::kBFloat16);
  model->initialize(3, 0.06);  // many tokens are nearly as likely
  const std::vector<Request> wanted = requests(40, 0);
  const Made alone = make(model, {}, wanted, 1);
  EXPECT_EQ(alone.use.shared_tokens, 0);
  for (const std::int64_t parallel : {2, 7, 40}) {
    const Made together = make(model, {}, wanted, parallel);
    EXPECT_TRUE(parallel < 3 || together.use.shared_tokens > 0);
    for (const auto& [number, expected] : alone.by_number)
      EXPECT_EQ(together.by_number.at(number).tokens, expected.tokens)
          << parallel << " at a time, request " << number;
  }
}

// Every second token is but for rounding the one before it, so that the order of a sum decides.
// Seen failing with the logits of all sequences as one product.
TEST(GenerateBatch, OneSequenceAddsAsSeveralDo) {
  ModelConfig config = tiny_config(Position::kAlibi);
  config.width = 128;
  Gpt model = std::make_shared<GptImpl>(config, 1024, torch::kBFloat16);
  model->initialize(3, 0.06);
  {
    const torch::NoGradGuard guard;
    torch::manual_seed(9);
    const torch::Tensor pairs_PSC = model->head_VC().view({512, 2, 128});
    const torch::Tensor first_PC = pairs_PSC.select(1, 0);
    pairs_PSC.select(1, 1).copy_(first_PC * (1 + 2e-7 * torch::randn_like(first_PC)));
  }
  const std::vector<Request> wanted = requests(40, 0);
  const Made alone = make(model, {}, wanted, 1), together = make(model, {}, wanted, 40);
  for (const auto& [number, expected] : alone.by_number)
    EXPECT_EQ(together.by_number.at(number).tokens, expected.tokens) << "request " << number;
}

TEST(GenerateBatch, StopsBetweenTwoSteps) {
  Gpt model = tiny_model(tiny_config(Position::kAlibi));
  std::int64_t asked = 0, done = 0;
  GenerateOptions options;
  options.stop_at_end = false;
  generate_batch(
      model, options, 2, torch::kCPU,
      [] {
        return std::optional(Request{.number = 0, .prompt = {2}, .tokens = 1000, .sample = {}});
      },
      [&](const Completion&) { ++done; }, [&] { return ++asked > 20; });
  EXPECT_EQ(done, 0);
  EXPECT_GT(asked, 20);
}

}  // namespace
}  // namespace alibi
