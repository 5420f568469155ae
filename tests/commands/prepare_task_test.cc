// alibi prepare --task: a file that training reads, whose answers alone are learned.
#include <gtest/gtest.h>

#include "commands/cli_fixture.h"
#include "support/error_text.h"

namespace alibi {
namespace {

std::vector<std::string> make(std::vector<std::string> more) {
  std::vector<std::string> words = {"prepare", "--task",  "recall", "--sizes",
                                    "2,9",     "--texts", "40"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(PrepareTask, WritesWhatTrainingReads) {
  const CliFixture place;
  place.works(make({"--output", "a.jsonl"}));
  place.works(make({"--output", "b.jsonl"}));
  place.works(make({"--output", "c.jsonl", "--seed", "1"}));
  EXPECT_EQ(place.read("a.jsonl"), place.read("b.jsonl"));
  EXPECT_NE(place.read("a.jsonl"), place.read("c.jsonl"));
  std::istringstream lines(place.read("a.jsonl"));
  std::int64_t texts = 0, answers = 0, end_tokens = 0;
  for (std::string line; std::getline(lines, line); ++texts, ++end_tokens) {
    const auto messages = nlohmann::json::parse(line)["messages"];
    EXPECT_GE(messages.size(), 4u);
    EXPECT_LE(messages.size(), 18u);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      EXPECT_EQ(messages[i]["role"], i % 2 == 0 ? "user" : "assistant");
      if (i % 2 == 1) answers += std::ssize(messages[i]["content"].get<std::string>());
    }
  }
  EXPECT_EQ(texts, 40);
  // Bytes are tokens: what is scored are answers and the ends of documents.
  place.works({"train", "tiny.json", "--set", "data.train=[\"a.jsonl\"]", "--set",
               "data.valid=[\"c.jsonl\"]", "--set", "run.train_tokens=1280"});
  const ProgramResult curve =
      place.works({"evaluate", "runs/tiny", "--text", "a.jsonl", "--lengths", "64", "--set",
                   "evaluate.max_tokens=1000000", "--output", "curve"});
  const std::int64_t scored = place.json("curve/curve.json")["text"]["tokens_scored"];
  EXPECT_LE(scored, answers + end_tokens);
  EXPECT_GT(scored, answers + end_tokens - 64) << "but for a tail shorter than a window";
}

TEST(PrepareTask, RefusesWhatItCannotMake) {
  const CliFixture place;
  place.works(make({"--output", "a.jsonl"}));
  const std::string before = place.read("a.jsonl");
  const auto refused = [&](std::vector<std::string> words, const char* at, const char* name) {
    const ProgramResult result = place.run(words);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_ERROR_AT(result.err, at, name);
  };
  refused(make({"--output", "a.jsonl"}), "a.jsonl", "--output");
  std::filesystem::create_symlink("nowhere", place.path("link.jsonl"));
  refused(make({"--output", "link.jsonl"}), "link.jsonl", "--output");  // else replaced
  refused(make({"--output", "b.txt"}), "--output", ".jsonl");
  refused({"prepare", "--task", "recall", "--sizes", "0,9", "--output", "b.jsonl"}, "--sizes", "1");
  refused({"prepare", "--task", "recall", "--sizes", "9,2", "--output", "b.jsonl"}, "--sizes", "9");
  refused({"prepare", "--task", "recall", "--output", "b.jsonl"}, "--sizes", "4,32");
  refused({"prepare", "--task", "recal", "--sizes", "9", "--output", "b.jsonl"}, "--task",
          "did you mean \"recall\"");
  refused({"prepare", "tiny.json", "--task", "recall", "--sizes", "9", "--output", "b.jsonl"},
          "--task", "config");
  refused({"prepare", "--task", "copy", "--sizes", "9", "--idle", "0.5", "--output", "b.jsonl"},
          "--idle", "recall");
  refused(make({"--ignored", "0.5", "--output", "b.jsonl"}), "--ignored", "flip_flop");
  EXPECT_EQ(place.read("a.jsonl"), before);
  EXPECT_FALSE(std::filesystem::exists(place.path("b.jsonl")));
}

}  // namespace
}  // namespace alibi
