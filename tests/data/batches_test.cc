// What a step sees: the reshape keeps every target, an epoch sees each target once, and nothing but
// (seed, step) decides.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "data/batches.h"
#include "data/shards.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"
#include "support/token_at.h"
#include "text/tokenizer.h"

namespace alibi {
namespace {

constexpr std::int64_t kVocabulary = 100'000;

// A text whose tokens are all different: 3, 4, 5, ... with the one end token at the end.
class Text {
 public:
  explicit Text(std::int64_t size) : Text(plain(size)) {}
  explicit Text(const std::vector<std::int32_t>& ids, bool marks = false) {
    ShardSetWriter writer(folder_.path(), "train", {kVocabulary, marks});
    writer.append(ids);
    for (const std::int32_t id : ids) {
      if (id == Tokenizer::kEnd) writer.end_document();
    }
    shards_ = std::make_unique<TokenShards>(TokenShards::open(writer.finish(), kVocabulary));
  }
  const TokenShards& shards() const { return *shards_; }
  std::int64_t before(std::int64_t target) const {
    return token_at(*shards_, (target + shards_->size() - 1) % shards_->size());
  }

 private:
  static std::vector<std::int32_t> plain(std::int64_t size) {
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i + 1 < size; ++i) ids.push_back(i + 3);
    ids.push_back(Tokenizer::kEnd);
    return ids;
  }
  TemporaryFolder folder_;
  std::unique_ptr<TokenShards> shards_;
};

BatchConfig shape(std::int64_t length, std::int64_t sequences, double scaling = 1) {
  BatchConfig batch;
  batch.sequence_length = length;
  batch.sequences = sequences;
  batch.train_sequence_length_scaling = scaling;
  return batch;
}

// Seen failing with marks left on the inputs and with marked targets kept.
TEST(Batch, MarkedTokensAreReadAndNotLearned) {
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < 63; ++i) ids.push_back(i % 3 == 0 ? marked(i + 3) : i + 3);
  ids.push_back(Tokenizer::kEnd);
  const Text text(ids, true);
  const Batch batch = BatchReader(text.shards(), shape(16, 4), 7, false).read(0);
  EXPECT_EQ(batch.target_count(), 64 - 21);
  std::set<std::int64_t> read;
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    const std::int64_t input = batch.inputs[i], target = batch.targets[i];
    read.insert(input);
    const bool has_prompt_next = input != Tokenizer::kEnd ? input % 3 == 2 && input < 65 : true;
    if (input == 65) continue;  // the end stands behind it
    EXPECT_EQ(target == kIgnoreIndex, has_prompt_next) << input;
    EXPECT_TRUE(target == kIgnoreIndex || target == input + 1) << input;
  }
  EXPECT_EQ(read.size(), 64u);
  EXPECT_GE(*read.begin(), Tokenizer::kEnd);
}

TEST(Reshape, FlattenedInputsAndTargetsAreTheSameForEveryScaling) {
  const Text text(1003);
  const BatchReader whole(text.shards(), shape(64, 4), 7, false);
  for (const double s : {1.0, 0.5, 0.25, 0.125}) {
    const BatchReader scaled(text.shards(), shape(64, 4, s), 7, false);
    for (std::int64_t step = 0; step < 20; ++step) {
      const Batch a = whole.read(step), b = scaled.read(step);
      EXPECT_EQ(b.rows, static_cast<std::int64_t>(4 / s));
      EXPECT_EQ(b.length, static_cast<std::int64_t>(64 * s));
      ASSERT_EQ(a.inputs, b.inputs) << s;
      ASSERT_EQ(a.targets, b.targets) << s;
    }
  }
}

// Seen failing with rows cut from whole sequences.
TEST(Reshape, RowsDrawnByThemselvesAreABatchOfTheirLength) {
  const Text text(1000);
  BatchConfig rows = shape(32, 3, 0.25);
  rows.draw = Draw::kRows;
  const BatchReader drawn(text.shards(), rows, 7, false);
  const BatchReader short_ones(text.shards(), shape(8, 12), 7, false);
  EXPECT_EQ(drawn.windows(), 12);
  std::set<std::int64_t> seen;
  for (std::int64_t step = 0; step < 10; ++step) {
    const Batch batch = drawn.read(step), other = short_ones.read(step);
    EXPECT_EQ(batch.rows, 12);
    EXPECT_EQ(batch.length, 8);
    EXPECT_EQ(batch.inputs, other.inputs);
    EXPECT_EQ(batch.targets, other.targets);
    seen.insert(batch.targets.begin(), batch.targets.end());
  }
  EXPECT_EQ(seen.size(), 960U);  // of one epoch: none twice
}

TEST(Reshape, ALengthMixtureDrawsTheShapeOfEachStepAndKeepsItsTokens) {
  const Text text(1003);
  BatchConfig mixed = shape(64, 4);
  mixed.length_mixture = {0.25, 0.5, 1};
  const BatchReader whole(text.shards(), shape(64, 4), 7, false),
      mixture(text.shards(), mixed, 7, false), again(text.shards(), mixed, 7, false);
  std::map<std::int64_t, int> lengths;
  for (std::int64_t step = 0; step < 300; ++step) {
    const Batch a = whole.read(step), b = mixture.read(step);
    ASSERT_EQ(a.inputs, b.inputs);
    ASSERT_EQ(a.targets, b.targets);
    EXPECT_EQ(b.rows * b.length, 256);
    EXPECT_EQ(b.length, again.shape_at(step).length);
    ++lengths[b.length];
  }
  ASSERT_EQ(lengths.size(), 3U);
  for (const std::int64_t length : {16, 32, 64}) EXPECT_NEAR(lengths[length], 100, 30) << length;
}

TEST(Reshape, ARowBecomesConsecutiveRowsAndLosesNoTarget) {
  const Text text(1003);
  const Batch whole = BatchReader(text.shards(), shape(64, 4), 1, false).read(3);
  const Batch quarter = BatchReader(text.shards(), shape(64, 4, 0.25), 1, false).read(3);
  for (std::int64_t b = 0; b < 4; ++b) {
    for (std::int64_t part = 0; part < 4; ++part) {
      for (std::int64_t i = 0; i < 16; ++i) {
        const auto in_quarter = static_cast<std::size_t>((4 * b + part) * 16 + i);
        const auto in_whole = static_cast<std::size_t>(b * 64 + part * 16 + i);
        EXPECT_EQ(quarter.inputs[in_quarter], whole.inputs[in_whole]);
        EXPECT_EQ(quarter.targets[in_quarter], whole.targets[in_whole]);
      }
    }
  }
  // Every input is the token before its target, also at the first position of each short row.
  for (std::size_t i = 0; i < quarter.targets.size(); ++i) {
    const std::int64_t target =
        quarter.targets[i] == Tokenizer::kEnd ? text.shards().size() - 1 : quarter.targets[i] - 3;
    EXPECT_EQ(quarter.inputs[i], text.before(target));
  }
}

// How often each target was seen in the first `windows` windows.
std::map<std::int64_t, std::int64_t> seen_in(const BatchReader& reader, std::int64_t windows) {
  std::map<std::int64_t, std::int64_t> seen;
  for (std::int64_t step = 0; step < windows; ++step) {
    for (const std::int64_t target : reader.read(step).targets) ++seen[target];
  }
  return seen;
}

TEST(Order, AnEpochSeesEachTargetOnceAndItsTailJoinsTheNext) {
  for (const std::int64_t size : {7, 8, 64, 97, 100, 1003}) {
    for (const std::int64_t length : {1, 3, 7}) {
      const Text text(size);
      const BatchReader reader(text.shards(), shape(length, 1), 3, false);
      for (std::int64_t epoch = 1; epoch <= 4; ++epoch) {
        // Windows that start within `epoch` epochs; the last may reach over the end.
        const std::int64_t windows = (epoch * size + length - 1) / length;
        const std::int64_t over = windows * length - epoch * size;
        const auto seen = seen_in(reader, windows);
        EXPECT_EQ(std::ssize(seen), size);
        std::int64_t more = 0;
        for (const auto& [target, times] : seen) {
          EXPECT_TRUE(times == epoch || times == epoch + 1) << target << " was seen " << times;
          more += times - epoch;
        }
        EXPECT_EQ(more, over) << "size " << size << ", length " << length << ", epoch " << epoch;
      }
      // After `length` epochs windows and text end together: nothing was dropped, nothing doubled.
      for (const auto& [target, times] : seen_in(reader, size)) EXPECT_EQ(times, length) << target;
    }
  }
}

TEST(Order, IsAPureFunctionOfSeedAndStep) {
  const Text text(1003);
  const BatchReader a(text.shards(), shape(32, 4), 5, false),
      b(text.shards(), shape(32, 4), 5, false);
  std::vector<Batch> forward;
  for (std::int64_t step = 0; step < 30; ++step) forward.push_back(a.read(step));
  for (std::int64_t step = 29; step >= 0; --step) {
    const Batch again = b.read(step);
    EXPECT_EQ(again.inputs, forward[static_cast<std::size_t>(step)].inputs);
    EXPECT_EQ(again.targets, forward[static_cast<std::size_t>(step)].targets);
  }
}

TEST(Order, AWindowBeginsWhereItSays) {
  const Text text(103);
  const BatchReader reader(text.shards(), shape(8, 3), 2, false);
  for (std::int64_t step = 0; step < 20; ++step) {
    const Batch batch = reader.read(step);
    for (std::int64_t i = 0; i < 24; ++i) {
      const std::int64_t target = (reader.window_start(3 * step + i / 8) + i % 8) % 103;
      EXPECT_EQ(batch.targets[static_cast<std::size_t>(i)], token_at(text.shards(), target));
      EXPECT_EQ(batch.inputs[static_cast<std::size_t>(i)], text.before(target));
    }
  }
}

TEST(Order, DiffersBetweenSeedsAndBetweenEpochs) {
  const Text text(960);  // 30 windows an epoch
  const auto starts = [&](std::uint64_t seed, std::int64_t epoch) {
    const BatchReader reader(text.shards(), shape(32, 1), seed, false);
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < 30; ++i) order.push_back(reader.window_start(30 * epoch + i));
    return order;
  };
  std::set<std::vector<std::int64_t>> orders;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<std::int64_t> order = starts(seed, epoch);
      orders.insert(order);
      std::sort(order.begin(), order.end());
      for (std::int64_t i = 0; i < 30; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], 32 * i);
    }
  }
  EXPECT_EQ(orders.size(), 15U);
}

TEST(Order, ATextShorterThanOneWindowIsAnError) {
  const Text text(63);
  EXPECT_NAMES(error_text([&] { BatchReader(text.shards(), shape(64, 1), 0, false); }), 63,
               "batch.sequence_length", 64);
  const Text enough(64);
  EXPECT_EQ(BatchReader(enough.shards(), shape(64, 1), 0, false).read(0).targets.size(), 64U);
}

TEST(Documents, EachTokenSeesFromTheEndTokenBeforeItsOwnDocument) {
  Batch batch{.rows = 2,
              .length = 5,
              .inputs = {7, 2, 8, 9, 2, 2, 5, 6, 7, 8},
              .targets = {},
              .document_starts = {}};
  mark_documents(batch);
  EXPECT_EQ(batch.document_starts, (std::vector<std::int64_t>{0, 1, 1, 1, 4, 0, 0, 0, 0, 0}));
}

TEST(Documents, AreMarkedOnlyWhenAsked) {
  const Text text(std::vector<std::int32_t>{5, 6, 2, 7, 8, 2, 9, 2});
  EXPECT_TRUE(BatchReader(text.shards(), shape(4, 2), 0, false).read(0).document_starts.empty());
  const Batch batch = BatchReader(text.shards(), shape(8, 1, 0.5), 0, true).read(0);
  ASSERT_EQ(batch.inputs, (std::vector<std::int64_t>{2, 5, 6, 2, 7, 8, 2, 9}));
  EXPECT_EQ(batch.document_starts, (std::vector<std::int64_t>{0, 0, 0, 3, 0, 0, 2, 2}));
}

}  // namespace
}  // namespace alibi
