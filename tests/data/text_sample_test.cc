// Which windows of a text are taken, and that files and shards give the same ones.
#include "data/text_sample.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/files.h"
#include "base/strings.h"
#include "support/error_place.h"
#include "support/error_text.h"
#include "support/small_tokenizer.h"
#include "support/temporary_folder.h"
#include "support/token_files.h"

namespace alibi {
namespace {

std::int64_t taken(const std::vector<WindowRange>& ranges) {
  std::int64_t sum = 0;
  for (const WindowRange& range : ranges) sum += range.count;
  return sum;
}

TEST(SpreadWindows, AllWhenTheyFitElseEvenlyOverTheText) {
  const SampleRule ten{.window = 10, .most = 100};
  EXPECT_EQ(spread_windows(0, ten), std::vector<WindowRange>());
  EXPECT_EQ(spread_windows(10, ten), (std::vector<WindowRange>{{0, 10}}));
  EXPECT_EQ(taken(spread_windows(11, ten)), 10);
  const auto thirty = spread_windows(30, ten);
  ASSERT_EQ(thirty.size(), 10U);
  for (std::int64_t i = 0; i < 10; ++i)
    EXPECT_EQ(thirty[static_cast<std::size_t>(i)], (WindowRange{3 * i, 1}));
  EXPECT_EQ(spread_windows(7, {.window = 10, .most = 3}), (std::vector<WindowRange>{{0, 1}}));
}

TEST(SpreadWindows, ReachTheLastTenthOfAnyTextAndLeaveNoLargeGap) {
  for (const std::int64_t group : {1, 3}) {
    const SampleRule rule{.window = 10, .most = 600, .context = 1, .group = group};
    const std::int64_t wanted = 60 / group;
    for (std::int64_t windows = 61; windows < 5000; windows += 37) {
      const auto ranges = spread_windows(windows, rule);
      EXPECT_LE(taken(ranges), 60);
      EXPECT_GE(taken(ranges), 60 - group);
      EXPECT_EQ(ranges.front().first, 0);
      std::int64_t end = 0, gap = 0;
      for (const WindowRange& range : ranges) {
        EXPECT_LE(end, range.first);
        gap = std::max(gap, range.first - end);
        end = range.first + range.count;
      }
      EXPECT_LE(std::max(gap, windows - end), 2 * windows / wanted + 2 * group) << windows;
    }
  }
}

// A long text, a short document and an empty one.
std::vector<std::string> example_files(const TemporaryFolder& folder) {
  const std::string one = (folder.path() / "1.txt").string();
  const std::string two = (folder.path() / "2.jsonl").string();
  write_file_atomic(one, small_text(300'000));
  write_file_atomic(two, "{\"text\": \"kalo\"}\n{\"text\": \"\"}\n{\"text\": \"mi an\"}\n");
  return {one, two};
}

TokenShards shards_of(const TextSample& all, const TemporaryFolder& folder,
                      std::int64_t vocabulary) {
  ShardSetWriter writer(folder.path(), "all", {vocabulary}, 10'000);
  for (const std::int32_t id : all.ids) {
    writer.append({&id, 1});
    if (id == Tokenizer::kEnd) writer.end_document();
  }
  return TokenShards::open(writer.finish(), vocabulary);
}

TEST(TextSample, FilesAndShardsGiveTheSameForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  const std::vector<std::string> files = example_files(folder);
  const Tokenizer tokenizer = small_tokenizer();
  const TextSample all =
      sample_files(files, tokenizer, 1, {.window = 1, .most = std::int64_t{1} << 40});
  EXPECT_EQ(std::ssize(all.ids), all.available);
  EXPECT_EQ(std::ranges::count(all.ids, Tokenizer::kEnd), 3);
  const TokenShards shards = shards_of(all, folder, tokenizer.vocabulary());
  for (const std::int64_t most : {50, 1000, 3000, 20'000, 1'000'000}) {
    for (const std::int64_t group : {1, 2, 5}) {
      for (const std::int64_t context : {0, 1, 64}) {
        const SampleRule rule{.window = 64, .most = most, .context = context, .group = group};
        const TextSample from_files = sample_files(files, tokenizer, 2, rule);
        const TextSample from_shards = sample_tokens(shards, rule);
        EXPECT_EQ(from_files.ids, from_shards.ids) << most << " " << group << " " << context;
        EXPECT_EQ(from_files.hash(), from_shards.hash());
        EXPECT_EQ(from_files.describe(), from_shards.describe());
      }
    }
  }
}

TEST(TextSample, RunsStandBehindWhatPrecedesThemInTheText) {
  const TemporaryFolder folder;
  const std::vector<std::string> files = example_files(folder);
  const SampleRule everything{.window = 1, .most = std::int64_t{1} << 40};
  const auto all = sample_files(files, Tokenizer::bytes(), 1, everything).ids;
  const SampleRule rule{.window = 100, .most = 2000, .context = 7};
  const TextSample sample = sample_files(files, Tokenizer::bytes(), 1, rule);
  const auto ranges = spread_windows(std::ssize(all) / 100, rule);
  ASSERT_EQ(sample.runs.size(), ranges.size());
  EXPECT_GT(ranges.back().first * 100, std::ssize(all) * 9 / 10);
  EXPECT_EQ(sample.targets(), 2000);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const SampleRun& run = sample.runs[i];
    EXPECT_EQ(run.context, i == 0 ? 0 : 7);
    EXPECT_TRUE(std::equal(sample.ids.begin() + run.first - run.context,
                           sample.ids.begin() + run.first + run.count,
                           all.begin() + ranges[i].first * 100 - run.context));
  }
  EXPECT_NAMES(sample.describe(), 20, std::ssize(all) / 100, 100);
}

// Seen failing with prompts scored.
TEST(TextSample, PromptsAreReadAndNotScored) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "a.jsonl").string();
  write_file_atomic(path, "{\"prompt\": \"ab\", \"completion\": \"c\"}\n{\"text\": \"de\"}\n");
  const SampleRule rule{.window = 7, .most = 7, .context = 1};
  const TextSample sample = sample_files({path}, Tokenizer::bytes(), 1, rule);
  const auto ids = [](const std::string& text) {
    std::vector<std::int32_t> all = Tokenizer::bytes().encode(text);
    for (std::int32_t& id : all)
      if (id == '|' + 3) id = Tokenizer::kEnd;
    return all;
  };
  EXPECT_EQ(sample.ids, ids("abc|de|"));
  EXPECT_EQ(sample.scored(), ids("c|de|"));
  EXPECT_EQ(sample.targets(), 7);
  EXPECT_FALSE(sample.is_target(1));
  EXPECT_TRUE(sample.is_target(2));
}

// Seen failing with the marks of targets left out.
TEST(TextSample, AHashKnowsThePrompts) {
  const TemporaryFolder folder;
  const auto hash_of = [&](const std::string& text) {
    const std::string path = (folder.path() / "a.jsonl").string();
    write_file_atomic(path, text);
    return sample_files({path}, Tokenizer::bytes(), 1, {.window = 4, .most = 4}).prompts_hash();
  };
  const std::string first = hash_of("{\"prompt\": \"ab\", \"completion\": \"c\"}\n");
  EXPECT_EQ(hash_of("{\"text\": \"abc\"}\n"), "") << "no prompts";
  EXPECT_NE(hash_of("{\"prompt\": \"ax\", \"completion\": \"c\"}\n"), first) << "another one";
  EXPECT_NE(hash_of("{\"prompt\": \"a\", \"completion\": \"bc\"}\n"), first) << "a shorter one";
  EXPECT_EQ(hash_of("{\"prompt\": \"ab\", \"completion\": \"c\"}\n"), first);
}

// nanoGPT's val.bin: the ids as they are, split where the text was.
TEST(TextSample, FilesOfTokensGiveWhatTheirTextGives) {
  const TemporaryFolder folder;
  const Tokenizer tokenizer = small_tokenizer();
  const std::string text = small_text(30'000, 4);
  write_file_atomic(folder.path() / "text.txt", text);
  std::vector<std::int64_t> wide;
  for (const std::int32_t id : tokenizer.encode(text)) wide.push_back(id);
  wide.push_back(tokenizer.end());
  write_file_atomic(folder.path() / "val.bin", raw<std::uint16_t>(wide));
  const SampleRule rule{.window = 64, .most = 1000, .context = 8};
  const auto sample = [&](const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back((folder.path() / name).string());
    return sample_files(paths, tokenizer, 1, rule);
  };
  const TextSample plain = sample({"text.txt"}), tokens = sample({"val.bin"});
  EXPECT_EQ(tokens.available, plain.available);
  EXPECT_EQ(tokens.ids, plain.ids);
  EXPECT_EQ(tokens.hash(), plain.hash());
  EXPECT_ERROR_AT(error_text([&] { sample({"text.txt", "val.bin"}); }), "val.bin");
}

TEST(TextSample, TextWithoutADocumentIsRefused) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "a.jsonl").string();
  write_file_atomic(path, "{\"text\": \"\"}\n");
  EXPECT_EQ(error_place([&] { sample_files({path}, Tokenizer::bytes(), 1, SampleRule()); }),
            path + " 1");
}

}  // namespace
}  // namespace alibi
