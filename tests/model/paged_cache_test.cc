// Pages hold what one piece of memory holds; they are shared, counted and given back.
#include "model/paged_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <span>

#include "device/libtorch.h"
#include "support/tiny_model.h"

namespace alibi {
namespace {

torch::Tensor row(const torch::Tensor& tokens_BT, std::int64_t b, std::int64_t first,
                  std::int64_t count) {
  return tokens_BT.narrow(0, b, 1).narrow(1, first, count);
}

// Sequences of several lengths go on together as each does alone. Seen failing with one length for
// all.
TEST(PagedCache, SequencesOfABatchAreThoseAlone) {
  const torch::Tensor tokens_BT = tiny_tokens(3, 80);
  const std::vector<std::int64_t> begun = {40, 1, 15};
  for (const Position position : kAllPositions) {
    for (const bool rich : {false, true}) {
      ModelConfig config = rich ? rich_config(position) : tiny_config(position);
      if (rich) config.attention_pattern = {"window(20) + global(3)"};
      Gpt model = tiny_model(config);
      PagePool pool(config.layers);
      std::vector<std::unique_ptr<PagedSequence>> sequences;
      ForwardOptions together;
      std::vector<Cache*> caches;
      for (std::int64_t b = 0; b < 3; ++b) {
        sequences.push_back(std::make_unique<PagedSequence>(pool));
        caches.push_back(sequences.back().get());
        ForwardOptions alone;
        alone.cache = caches.back();
        tiny_logits(model, row(tokens_BT, b, 0, begun[static_cast<std::size_t>(b)]), alone);
      }
      together.caches = caches;
      std::vector<torch::Tensor> full;
      for (std::int64_t b = 0; b < 3; ++b)
        full.push_back(tiny_logits(model, row(tokens_BT, b, 0, 80)));
      for (std::int64_t step = 0; step < 17; ++step) {
        std::vector<torch::Tensor> next;
        for (std::int64_t b = 0; b < 3; ++b) {
          next.push_back(row(tokens_BT, b, begun[static_cast<std::size_t>(b)] + step, 1));
          sequences[static_cast<std::size_t>(b)]->reserve(1);
        }
        const torch::Tensor logits_B1V = tiny_logits(model, torch::cat(next), together);
        for (std::int64_t b = 0; b < 3; ++b) {
          const std::int64_t place = begun[static_cast<std::size_t>(b)] + step;
          EXPECT_LT(
              largest_difference(logits_B1V[b][0], full[static_cast<std::size_t>(b)][0][place]),
              2e-5)
              << name_of(position) << ", sequence " << b << ", step " << step;
        }
      }
    }
  }
}

std::vector<std::int32_t> numbers(std::int32_t first, std::int32_t count) {
  std::vector<std::int32_t> all;
  for (std::int32_t i = 0; i < count; ++i) all.push_back(first + i);
  return all;
}

void read(PagedSequence& sequence, std::int64_t positions) {
  const torch::Tensor x = torch::randn({1, 2, positions, 4});
  sequence.extend(0, x, x);
  sequence.advance(positions);
}

// Seen failing with pages that are free once the first of their users has gone.
TEST(PagedCache, SharesTheSameBeginningsWhileSomebodyHasThem) {
  PagePool pool(1);
  const std::vector<std::int32_t> prompt = numbers(0, 160);
  auto first = std::make_unique<PagedSequence>(pool);
  EXPECT_EQ(first->take_shared(prompt), 0);
  read(*first, 160);
  EXPECT_EQ(pool.pages_in_use(), 160 / kPage);
  first->share(prompt);
  PagedSequence same(pool), longer(pool), shorter(pool), other(pool), differs(pool);
  EXPECT_EQ(same.take_shared(prompt), 128);
  EXPECT_EQ(longer.take_shared(numbers(0, 500)), 128);
  EXPECT_EQ(shorter.take_shared(numbers(0, 128)), 64) << "its last token is to be read";
  EXPECT_EQ(other.take_shared(numbers(1, 160)), 0);
  std::vector<std::int32_t> late_change = prompt;
  late_change[100] = 7;
  EXPECT_EQ(differs.take_shared(late_change), 64);
  EXPECT_EQ(pool.pages_in_use(), 160 / kPage);
  first.reset();
  EXPECT_EQ(pool.pages_in_use(), 128 / kPage) << "others have them";
  read(same, 32);
  const torch::Tensor x = torch::randn({1, 2, 1, 4});
  EXPECT_EQ(same.extend(0, x, x).k_BGSD.size(2), 161);
  PagedSequence late(pool);
  EXPECT_EQ(late.take_shared(prompt), 128);
}

TEST(PagedCache, GivesAllPagesBack) {
  PagePool pool(1);
  for (int round = 0; round < 3; ++round) {
    PagedSequence one(pool), two(pool);
    read(one, 100);
    read(two, 17);
    one.share(numbers(0, 100));
    EXPECT_EQ(pool.pages_in_use(), 13 + 3);
  }
  EXPECT_EQ(pool.pages_in_use(), 0);
  PagedSequence late(pool);
  EXPECT_EQ(late.take_shared(numbers(0, 100)), 0) << "with their last user they are forgotten";
}

// Seen failing with half as many pages at a time as there are.
TEST(PagedCache, AllocatesWhatItHoldsAtMost) {
  PagePool pool(1);
  std::vector<std::unique_ptr<PagedSequence>> sequences;
  for (std::int64_t n = 0; n < 100; ++n) {
    read(*sequences.emplace_back(std::make_unique<PagedSequence>(pool)), 1 + n * 7 % 90);
    EXPECT_EQ(pool.pages(), pool.pages_in_use());
  }
  EXPECT_GT(pool.pages(), 512);
  const std::int64_t most = pool.pages();
  sequences.resize(50);
  read(*sequences.emplace_back(std::make_unique<PagedSequence>(pool)), 100);
  EXPECT_EQ(pool.pages(), most) << "what others gave back is used first";
}

// Two that read the same text at the same time go on with each other's pieces.
TEST(PagedCache, TakesWhatAnotherHasReadInTheMeantime) {
  PagePool pool(1);
  const std::vector<std::int32_t> prompt = numbers(0, 1000);
  const std::span<const std::int32_t> tokens = prompt;
  PagedSequence one(pool), two(pool);
  EXPECT_EQ(one.take_shared(prompt), 0);
  read(one, 64);
  one.share(tokens.first(64));
  EXPECT_EQ(two.take_shared(prompt), 64);
  for (std::int64_t end = 128; end <= 256; end += 64) {
    read(two, 64);
    two.share(tokens.first(static_cast<std::size_t>(end)));
  }
  EXPECT_EQ(one.take_shared(prompt), 192);
  read(one, 256);
  one.share(tokens.first(512));
  EXPECT_EQ(two.take_shared(prompt), 256);
  EXPECT_EQ(pool.pages_in_use(), 512 / kPage);
  PagedSequence parts(pool);
  std::vector<std::int32_t> late_change = prompt;
  late_change[450] = 7;
  EXPECT_EQ(parts.take_shared(late_change), 256) << "pieces of 256 are read as a whole";
}

}  // namespace
}  // namespace alibi
