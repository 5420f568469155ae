#include "config/key_pattern.h"

#include <gtest/gtest.h>

#include "config/config.h"

namespace alibi {
namespace {

TEST(KeyPattern, ReadsEveryPart) {
  const auto parts = [](const std::string& text) {
    const PatternEntry entry = parse_pattern_entry(text);
    EXPECT_EQ(entry.problem, "") << text;
    return entry.parts;
  };
  EXPECT_EQ(parts("all"), KeyParts());
  EXPECT_EQ(parts("window(256)"), (KeyParts{.window = 256}));
  EXPECT_EQ(parts("dilated(64,4)"), (KeyParts{.window = 64, .dilation = 4}));
  EXPECT_EQ(parts("strided( 128 )"), (KeyParts{.window = 128, .stride = 128}));
  EXPECT_EQ(parts("fixed(128, 8)"), (KeyParts{.segment = 128, .period = 128, .columns = 8}));
  EXPECT_EQ(parts("fixed(8, 8)"), (KeyParts{.segment = 8, .period = 8, .columns = 8}));
  EXPECT_EQ(parts("blockwise(32)"), (KeyParts{.segment = 32}));
  EXPECT_EQ(parts("window(5) + global(2)+random(3)"),
            (KeyParts{.window = 5, .global = 2, .random = 3}));
  EXPECT_EQ(parts("lsh(16, 64, 2)"), (KeyParts{.buckets = 16, .bucket_chunk = 64, .rounds = 2}));
}

TEST(KeyPattern, RefusesWhatItDoesNotRead) {
  for (const char* text : {"",
                           "window",
                           "window()",
                           "window(0)",
                           "window(-1)",
                           "window(1, 2)",
                           "window(1.5)",
                           "window(99999999999999999999)",
                           "window(16777217)",
                           "dilated(4)",
                           "window(4) +",
                           "+ window(4)",
                           "window(4) window(5)",
                           "window(4) + window(5)",
                           "strided(4) + dilated(3, 2)",
                           "all + global(1)",
                           "global(3)",
                           "layers 1",
                           "layers : all",
                           "layers 2-1: all",
                           "heads 0,: all",
                           "heads 0 all",
                           "heads 0 layers 1: all",
                           "layers 0-99999: all",
                           "windows(4)",
                           "window(4);",
                           "fixed(8, 9)",
                           "lsh(16, 64)",
                           "lsh(15, 64, 2)",
                           "lsh(0, 64, 2)",
                           "lsh(16, 64, 65)",
                           "lsh(65538, 64, 2)",
                           "lsh(16, 64, 2) + window(4)",
                           "global(1) + lsh(16, 64, 2)",
                           "WINDOW(4)"})
    EXPECT_NE(parse_pattern_entry(text).problem, "") << text;
  std::string repeated = "layers 0";
  for (int i = 0; i < 5'000'000; ++i) repeated += ",0-1023";
  EXPECT_NE(parse_pattern_entry(repeated + ": all").problem, "") << "40 GB of numbers";
  EXPECT_NE(parse_pattern_entry("window(4) + windows(4)").problem.find("\"windows\""),
            std::string::npos);
}

TEST(KeyPattern, TheLastEntryThatNamesAHeadDecides) {
  ModelConfig model;
  model.layers = 3;
  model.heads = 4;
  EXPECT_TRUE(shows_all_keys(model));
  model.attention_pattern = {"window(4)", "layers 0,2: window(8)", "heads 1-2: all",
                             "layers 2 heads 2: window(16)"};
  const auto window = [&](std::int64_t layer, std::int64_t head) {
    return key_parts(model, layer, head).window;
  };
  EXPECT_EQ(window(1, 0), 4);
  EXPECT_EQ(window(0, 0), 8);
  EXPECT_EQ(window(0, 1), 0);
  EXPECT_EQ(window(2, 2), 16);
  EXPECT_EQ(window(2, 3), 8);
  EXPECT_FALSE(shows_all_keys(model));
  model.attention_pattern = {"window(4)", "all"};
  EXPECT_TRUE(shows_all_keys(model));
}

TEST(KeyPattern, HashesKeysInWholeLayers) {
  ModelConfig model;
  model.layers = 3;
  EXPECT_FALSE(hashes_keys(model));
  model.attention_pattern = {"window(4)", "layers 1: lsh(16, 64, 2)"};
  EXPECT_TRUE(hashes_keys(model));
  EXPECT_TRUE(hashes_keys(model, 1));
  EXPECT_FALSE(hashes_keys(model, 0));
  EXPECT_TRUE(key_parts(model, 1, 3).ask_for_places());
}

}  // namespace
}  // namespace alibi
