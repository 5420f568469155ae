#include "text/word_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace alibi {
namespace {

TEST(WordMemory, FindsWhatWasAddedUntilItForgetsAll) {
  WordMemory memory;
  EXPECT_FALSE(memory.find("a"));
  memory.add("", {});
  EXPECT_EQ(memory.find("").value().size(), 0U);
  constexpr std::int32_t kWords = 600'000;  // more than it keeps
  for (std::int32_t i = 0; i < kWords; ++i) {
    const std::vector<std::int32_t> ids(static_cast<std::size_t>(i % 4), i);
    const std::string word = "word" + std::to_string(i);
    memory.add(word, ids);
    ASSERT_TRUE(std::ranges::equal(memory.find(word).value(), ids)) << word;
  }
  EXPECT_FALSE(memory.find("word0"));
  EXPECT_FALSE(memory.find(""));
  memory.add("word0", std::vector<std::int32_t>{7});
  EXPECT_TRUE(std::ranges::equal(memory.find("word0").value(), std::vector<std::int32_t>{7}));
}

}  // namespace
}  // namespace alibi
