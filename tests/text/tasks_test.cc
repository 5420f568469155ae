// Each answer, found again from what stands before it by reading the text as a person would.
#include "text/tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

namespace alibi {
namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

struct Asked {
  Words before;  // all that stands before the answer
  Words answer;
};

std::vector<Asked> asked(const char* name, const TaskShape& shape, std::uint64_t number) {
  std::vector<Asked> all;
  std::string text;
  for (const TaskPiece& piece : task_text(*find_task(name), shape, RandomKey{7}.with(number))) {
    if (piece.answer) all.push_back({words_of(text), words_of(piece.text)});
    EXPECT_TRUE(text.empty() || piece.text.starts_with(' ')) << piece.text;
    EXPECT_FALSE(text.empty() && piece.text.starts_with(' ')) << piece.text;
    text += piece.text;
  }
  EXPECT_FALSE(all.empty()) << name;
  return all;
}

// Of drawn texts of several sizes.
template <class Check>
void for_texts(const char* name, std::initializer_list<std::int64_t> sizes, const Check& check) {
  for (const std::int64_t size : sizes) {
    for (std::uint64_t number = 0; number < 20; ++number) {
      const double depth = static_cast<double>(number) / 19;
      SCOPED_TRACE(testing::Message() << name << " " << size << " " << number);
      check(asked(name, {.size = size, .depth = depth}, number), size, depth);
    }
  }
}

TEST(Tasks, RecallAsksForEveryPairOnce) {
  for_texts("recall", {1, 5, 200, 201}, [](const auto& all, std::int64_t size, double) {
    EXPECT_EQ(std::ssize(all), size);
    std::map<std::string, std::string> pairs, found;
    for (std::int64_t i = 0; i < size; ++i)
      pairs[all[0].before[std::size_t(2 * i)]] = all[0].before[std::size_t(2 * i + 1)];
    EXPECT_EQ(std::ssize(pairs), size) << "keys differ";
    for (const Asked& one : all) found[one.before.back()] = one.answer[0];
    EXPECT_EQ(found, pairs);
  });
}

// Idle words stand among the pairs and change neither them nor the questions.
TEST(Tasks, RecallHasAsManyIdleWordsAsAskedFor) {
  for (const double idle : {0.5, 0.9}) {
    const Asked plain = asked("recall", {.size = 100}, 1).front();
    const Asked one = asked("recall", {.size = 100, .idle = idle}, 1).front();
    const auto words = static_cast<double>(one.before.size() - plain.before.size());
    EXPECT_NEAR(words / (200 + words), idle, 0.005);
    EXPECT_EQ(std::ranges::count(one.before, "."), words);
    Words pairs = one.before;
    std::erase(pairs, ".");
    EXPECT_EQ(Words(pairs.begin(), pairs.begin() + 201),
              Words(plain.before.begin(), plain.before.begin() + 201));
    const auto key = std::ranges::find(one.before, one.before.back());
    EXPECT_EQ(*(key + 1), one.answer.front());
  }
}

TEST(Tasks, CopyRepeatsAllLetters) {
  for_texts("copy", {1, 30}, [](const auto& all, std::int64_t size, double) {
    Words expected = all[0].answer;
    EXPECT_EQ(std::ssize(expected), size);
    expected.emplace_back(";");
    EXPECT_EQ(all[0].before, expected);
  });
}

// Seen failing with a run of letters that stands there twice.
TEST(Tasks, LookupHasOneAnswer) {
  for_texts("lookup", {3, 40, 2000}, [](const auto& all, std::int64_t size, double) {
    const Words& before = all[0].before;
    const auto end = before.begin() + size;
    const Words gram(end + 1, before.end());
    int times = 0;
    for (auto at = before.begin(); at + std::ssize(gram) < end; ++at) {
      if (!std::equal(gram.begin(), gram.end(), at)) continue;
      ++times;
      EXPECT_EQ(*(at + std::ssize(gram)), all[0].answer[0]);
    }
    EXPECT_EQ(times, 1);
  });
}

TEST(Tasks, FlipFlopReadsWhatWasWrittenLast) {
  for (const double ignored : {0.1, 0.8, 0.98, 1.0}) {
    std::int64_t ignores = 0;
    const auto all = asked("flip_flop", {.size = 4000, .ignored = ignored}, 3);
    for (const Asked& one : all) {
      EXPECT_EQ(one.before.back(), "r");
      const auto write = std::find(one.before.rbegin(), one.before.rend(), "w");
      ASSERT_NE(write, one.before.rend());
      EXPECT_EQ(one.answer, Words{*(write - 1)});
    }
    ignores = std::ranges::count(all.back().before, "i");
    EXPECT_NEAR(static_cast<double>(ignores) / 4000, ignored, 0.02);
  }
}

TEST(Tasks, NeedlesNumberIsStatedAtItsDepth) {
  for (const char* name : {"needle", "needles"}) {
    for_texts(name, {0, 50}, [&](const auto& all, std::int64_t size, double depth) {
      std::string text;
      for (const std::string& word : all[0].before) text += word + " ";
      static const std::regex kAsked("What is the number of ([a-z]+)\\?");
      std::smatch match;
      ASSERT_TRUE(std::regex_search(text, match, kAsked));
      const std::string sentence =
          "The number of " + match.str(1) + " is " + all[0].answer[0] + ". ";
      const std::size_t at = text.find(sentence);
      ASSERT_NE(at, std::string::npos) << text;
      if (size > 0 && name == std::string("needle")) {
        EXPECT_NEAR(static_cast<double>(at) / static_cast<double>(text.size()), depth, 0.1);
      }
    });
  }
}

// Lines as `evaluate.task=passkey` asks for them (evaluate/questions.cc takes them from here).
TEST(Tasks, APasskeyHasLinesOfItsOwnAtItsDepth) {
  for (const std::int64_t size : {0, 50}) {
    for (std::uint64_t number = 0; number < 20; ++number) {
      const double depth = static_cast<double>(number) / 19;
      const auto pieces = task_text(*find_task("passkey"), {.size = size, .depth = depth},
                                    RandomKey{7}.with(number));
      ASSERT_EQ(pieces.size(), 2u);
      EXPECT_TRUE(pieces[1].answer);
      static const std::regex kKey(" [1-9][0-9]{4}");
      EXPECT_TRUE(std::regex_match(pieces[1].text, kKey)) << pieces[1].text;
      const std::string& text = pieces[0].text;
      const std::string is = "pass key is" + pieces[1].text + "\n";
      const std::size_t at = text.find("The " + is + "Remember it: the " + is);
      ASSERT_NE(at, std::string::npos) << text;
      EXPECT_TRUE(at == 0 || text[at - 1] == '\n');
      EXPECT_TRUE(text.ends_with("\nWhat is the pass key? The pass key is"));
      if (size > 0) {
        EXPECT_NEAR(static_cast<double>(at) / static_cast<double>(text.size()), depth, 0.1);
      }
    }
  }
}

TEST(Tasks, VariablesFollowAChain) {
  for_texts("variables", {0, 40}, [](const auto& all, std::int64_t, double) {
    const Words& before = all[0].before;
    const auto question = std::find(before.begin(), before.end(), "Which");
    Words holding{(question + 3)->substr(0, 5)};  // a value, then the names that hold it
    for (auto at = before.begin(); at != question; ++at) {
      if (*at != "Let") continue;
      const std::string from = (at + 3)->substr(0, (at + 3)->size() - 1);
      if (std::ranges::count(holding, from) > 0) holding.push_back(*(at + 1));
    }
    holding.erase(holding.begin());
    EXPECT_EQ(holding, all[0].answer);
  });
}

std::vector<std::pair<int, std::string>> by_count(const Words& before) {
  std::map<std::string, int> counts;
  for (auto at = before.begin(); *at != ";"; ++at) ++counts[*at];
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [word, count] : counts) sorted.emplace_back(count, word);
  std::ranges::sort(sorted, std::greater());
  return sorted;
}

TEST(Tasks, CommonWordsAreMoreOftenThereThanAllOthers) {
  for_texts("common_words", {16, 100, 1000, 4000}, [](const auto& all, std::int64_t size, double) {
    const auto counts = by_count(all[0].before);
    EXPECT_GT(counts[2].first, counts[3].first);
    // As often in a long text as in a short one, beside the others.
    EXPECT_NEAR(1.0 * counts[2].first / counts[3].first, 4, 1) << size;
    Words expected{counts[0].second, counts[1].second, counts[2].second};
    std::ranges::sort(expected);
    EXPECT_EQ(all[0].answer, expected);
  });
}

TEST(Tasks, FrequentWordsHaveOneOrder) {
  for_texts("frequent_words", {30, 31, 44, 300, 4000},
            [](const auto& all, std::int64_t size, double) {
              const auto counts = by_count(all[0].before);
              for (std::size_t i = 0; i < 3; ++i) {
                EXPECT_GT(counts[i].first, counts[i + 1].first) << i;
                EXPECT_EQ(all[0].answer[i], counts[i].second);
              }
              int sum = 0;
              for (const auto& [count, word] : counts) sum += count;
              EXPECT_EQ(sum, size);
            });
}

TEST(Tasks, AreTheSameForTheSameKeyAndGrowWithTheirSize) {
  for (const TextTask& task : tasks()) {
    std::size_t before = 0;
    for (const std::int64_t size : {task.least, task.least + 20, task.least + 400}) {
      const auto text = [&](std::uint64_t seed) {
        std::string all;
        for (const TaskPiece& piece : task_text(task, {.size = size}, RandomKey{seed}))
          all += piece.text;
        return all;
      };
      EXPECT_EQ(text(1), text(1)) << task.name;
      EXPECT_NE(text(1), text(2)) << task.name;
      EXPECT_GT(text(1).size(), before) << task.name;
      before = text(1).size();
    }
  }
  EXPECT_EQ(find_task("nothing"), nullptr);
}

}  // namespace
}  // namespace alibi
