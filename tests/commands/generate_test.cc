// A file of prompts through the program: order, bad rows, and a stop in between.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <memory>

#include "commands/cli_fixture.h"
#include "support/error_text.h"

namespace alibi {
namespace {

class Prompts : public testing::Test {
 protected:
  Prompts() { place_.works({"train", "tiny.json"}); }

  ProgramResult generate(const std::string& output, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"generate",      "runs/tiny", "--prompts",
                                      "prompts.jsonl", "--tokens",  "30"};
    if (!output.empty()) words.insert(words.end(), {"--output", output});
    words.insert(words.end(), more.begin(), more.end());
    return place_.run(words);
  }
  std::vector<nlohmann::json> rows(const std::string& text) const {
    std::vector<nlohmann::json> all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }

  CliFixture place_;
};

TEST_F(Prompts, AreAnsweredInTheirOrderAndBadOnesAreNamed) {
  place_.put("prompts.jsonl",
             "{\"prompt\": \"It was\", \"id\": \"a\"}\n"
             "{\"prompt\": \"and\", \"tokens\": 3, \"other\": 1}\n"
             "\n"
             "{\"prompt\": 7}\n"
             "no JSON\n"
             "{\"prompt\": \"\", \"temperature\": 0, \"seed\": 5}\n");
  const ProgramResult result = generate("", {"--parallel", "2"});
  EXPECT_EQ(result.code, 1) << result.err;
  const auto found = rows(result.out);
  ASSERT_EQ(found.size(), 5);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(found[i]["line"], (std::array{1, 2, 4, 5, 6}[i]));
  EXPECT_EQ(found[0]["id"], "a");
  EXPECT_EQ(found[0]["prompt"], "It was");
  EXPECT_EQ(found[1]["tokens"], 3);
  EXPECT_EQ(found[1]["finish_reason"], "length");
  EXPECT_NAMES(found[2]["error"].get<std::string>(), "prompts.jsonl:4", "/prompt");
  EXPECT_NAMES(found[3]["error"].get<std::string>(), "prompts.jsonl:5");
  EXPECT_NAMES(result.err, "prompts.jsonl:4");
  EXPECT_EQ(found[4]["prompt"], "");
  const ProgramResult one =
      place_.works({"generate", "runs/tiny", "--prompt", "It was", "--tokens", "30"});
  const auto plain = [](std::string text) {  // bytes that are no UTF-8 are replaced in JSON
    std::erase_if(text, [](char c) { return (c & 0x80) != 0; });
    return text;
  };
  EXPECT_EQ(plain("It was" + found[0]["text"].get<std::string>() + "\n"), plain(one.out));
}

// Seen failing with an error in place of the text that was written.
TEST(Generate, EndsWhereThePositionsOfTheModelEnd) {
  const CliFixture place;
  place.works({"train", "tiny.json", "--set", "model.position=learned"});
  const ProgramResult result = place.works({"generate", "runs/tiny", "--prompt", "It was",
                                            "--tokens", "5000", "--json", "--ignore-end"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_LT(json["tokens"], 5000);
  EXPECT_GT(json["tokens"], 8);
  EXPECT_EQ(json["finish_reason"], "length");
}

TEST_F(Prompts, TakeOptionsThatTheirLinesMayNeed) {
  place_.put("prompts.jsonl", "{\"prompt\": \"It was\", \"temperature\": 0.8}\n");
  EXPECT_EQ(generate("", {"--temperature", "0", "--seed", "7", "--top-k", "5"}).code, 0);
}

// Seen failing with what was written before a stop made again, and with half a line left.
TEST_F(Prompts, GoOnAfterAStop) {
  std::string prompts;
  for (int i = 0; i < 60; ++i) prompts += "{\"prompt\": \"number " + std::to_string(i) + "\"}\n";
  place_.put("prompts.jsonl", prompts);
  EXPECT_EQ(generate("whole.jsonl").code, 0);
  const std::string whole = place_.read("whole.jsonl");
  EXPECT_EQ(rows(whole).size(), 60);
  const std::size_t cut = whole.size() / 2;
  place_.put("part.jsonl", whole.substr(0, cut));
  const ProgramResult result = generate("part.jsonl", {"--parallel", "3"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(place_.read("part.jsonl"), whole);
  EXPECT_EQ(generate("part.jsonl").code, 0);
  EXPECT_EQ(place_.read("part.jsonl"), whole);
  place_.put("prompts.jsonl", "{\"prompt\": \"another\"}\n" + prompts);
  const ProgramResult other = generate("part.jsonl");
  EXPECT_EQ(other.code, 2);
  EXPECT_ERROR_AT(other.err, "part.jsonl", 1);
  EXPECT_EQ(place_.read("part.jsonl"), whole);
  place_.put("prompts.jsonl", prompts);
  EXPECT_ERROR_AT(generate("part.jsonl", {"--temperature", "0.5"}).err, "part.jsonl", 1);
  place_.put("prompts.jsonl", prompts.substr(0, prompts.find('\n') + 1));
  EXPECT_ERROR_AT(generate("part.jsonl").err, "part.jsonl", 2);
  EXPECT_EQ(place_.read("part.jsonl"), whole);
}

TEST_F(Prompts, ABadRowStaysBadInALaterCall) {
  place_.put("prompts.jsonl", "{\"prompt\": \"a\"}\n{}\n{\"prompt\": \"b\"}\n");
  EXPECT_EQ(generate("out.jsonl").code, 1);
  const std::string whole = place_.read("out.jsonl");
  EXPECT_EQ(generate("out.jsonl").code, 1);
  EXPECT_EQ(place_.read("out.jsonl"), whole);
}

// Seen failing with a bad line that is never made again.
TEST_F(Prompts, ABadRowThatHasChangedIsMadeAgain) {
  const std::string good = "{\"prompt\": \"a\"}\n", late = "{\"prompt\": \"b\"}\n";
  place_.put("prompts.jsonl", good + "{\"prompt\": 7}\n{}\n" + late + late);
  EXPECT_EQ(generate("out.jsonl").code, 1);
  const std::string bad = place_.read("out.jsonl");
  place_.put("out.jsonl", bad.substr(0, bad.size() - 5));  // the last row is to be made, too
  place_.put("out.jsonl.tmp", "somebody's");
  place_.put("prompts.jsonl", good + "{\"prompt\": \"7\"}\n{}\n" + late + late);
  const ProgramResult result = generate("out.jsonl");
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_EQ(place_.read("out.jsonl.tmp"), "somebody's");
  const auto found = rows(place_.read("out.jsonl")), before = rows(bad);
  ASSERT_EQ(found.size(), 5);
  EXPECT_EQ(found[1]["prompt"], "7");
  for (const std::size_t same : {0, 2, 3, 4}) EXPECT_EQ(found[same], before[same]) << same;
  place_.put("prompts.jsonl", good + "{\"prompt\": \"7\"}\n" + good + late + late);
  EXPECT_EQ(generate("out.jsonl").code, 0);
  const std::string whole = place_.read("out.jsonl");
  EXPECT_EQ(generate("").out, whole);
  EXPECT_EQ(generate("out.jsonl").code, 0);
  EXPECT_EQ(place_.read("out.jsonl"), whole);
}

// Seen failing with a job that knows neither precision nor kernel nor what is skipped, and with
// rows that are compared by their prompts.
TEST_F(Prompts, ARowOfOtherRoundingOrOptionsIsRefused) {
  const std::string other = "{\"prompt\": \"b\"}\n";
  place_.put("prompts.jsonl", "{\"prompt\": \"a\", \"tokens\": 3}\n" + other);
  EXPECT_EQ(generate("out.jsonl").code, 0);
  const std::string whole = place_.read("out.jsonl");
  for (const char* key : {"runtime.precision=bf16", "runtime.attention.kernel=reference",
                          "runtime.attention.skip=off"}) {
    const ProgramResult result = generate("out.jsonl", {"--set", key});
    EXPECT_EQ(result.code, 2) << key;
    EXPECT_ERROR_AT(result.err, "out.jsonl", 1);
  }
  EXPECT_EQ(generate("out.jsonl", {"--set", "runtime.precision=fp32"}).code, 0);
  // Seen failing with numbers of six digits.
  EXPECT_EQ(generate("out.jsonl", {"--temperature", "1.0000001"}).code, 2);
  for (const char* changed : {"\"tokens\": 4", "\"tokens\": 3, \"temperature\": 0.5",
                              "\"tokens\": 3, \"seed\": 9", "\"tokens\": 3, \"id\": 1"}) {
    place_.put("prompts.jsonl", std::string("{\"prompt\": \"a\", ") + changed + "}\n" + other);
    const ProgramResult result = generate("out.jsonl");
    EXPECT_EQ(result.code, 2) << changed;
    EXPECT_ERROR_AT(result.err, "out.jsonl", 1);
  }
  EXPECT_EQ(place_.read("out.jsonl"), whole);
}

// Seen failing without a lock.
TEST_F(Prompts, OneProcessAtATimeWritesAFile) {
  place_.put("prompts.jsonl", "{\"prompt\": \"a\"}\n");
  const auto holder = std::make_unique<FileLock>(place_.path("out.jsonl"), "the file");
  const ProgramResult result = generate("out.jsonl");
  EXPECT_EQ(result.code, 2);
  EXPECT_ERROR_AT(result.err, "out.jsonl");
  EXPECT_EQ(place_.read("out.jsonl"), "");
}

// Seen failing, by waiting for ever, with pipes that are opened.
TEST_F(Prompts, OnlyFilesAreWritten) {
  place_.put("prompts.jsonl", "{\"prompt\": \"a\"}\n");
  place_.put("file", "");
  std::filesystem::create_symlink("file", place_.path("link"));
  ASSERT_EQ(mkfifo(place_.path("pipe").c_str(), 0600), 0);
  for (const char* output : {"/dev/stdout", "/dev/full", "pipe", "runs", "link"}) {
    const ProgramResult result = generate(output);
    EXPECT_EQ(result.code, 2) << output;
    EXPECT_ERROR_AT(result.err, "--output", output);
  }
}

// Seen failing with a file whose last line is cut off before anything of it is known, or where only
// its first word is that of our rows.
TEST_F(Prompts, FilesOfOthersStayAsTheyAre) {
  const std::string prompt = "{\"prompt\": \"a\"}";  // without a line's end
  place_.put("prompts.jsonl", prompt);
  const std::map<std::string, std::string> others = {
      {"notes.txt", "to do"},
      {"brace.txt", "{"},
      {"like.jsonl", "{\"line\":1,\"note\":\"mine\"}"},
      {"job.jsonl", "{\"line\":1,\"job\":\"00000000\",\"text\":\"mine\"}"}};
  for (const auto& [name, text] : others) place_.put(name, text);
  for (const char* output : {"prompts.jsonl", "./prompts.jsonl"})
    EXPECT_EQ(generate(output).code, 2) << output;
  EXPECT_EQ(place_.read("prompts.jsonl"), prompt);
  for (const auto& [name, text] : others) {
    EXPECT_EQ(generate(name).code, 2) << name;
    EXPECT_EQ(place_.read(name), text);
  }
  const std::string ours = generate("").out;
  place_.put("ours.jsonl", ours.substr(0, ours.size() - 4));
  EXPECT_EQ(generate("ours.jsonl").code, 0);
  EXPECT_EQ(place_.read("ours.jsonl"), ours);
}

TEST_F(Prompts, RowsHaveTheLimitsOfTheOptions) {
  place_.put("prompts.jsonl",
             "\xef\xbb\xbf {\"prompt\": \"a\", \"other\": [[[[[[[[[[1]]]]]]]]]]}\n"
             "{\"prompt\": \"a\", \"tokens\": 9223372036854775807}\n"
             "{\"prompt\": \"a\", \"temperature\": 101}\n"
             "{\"prompt\": \"a\", \"id\": 1.5}\n");
  const auto found = rows(generate("").out);
  ASSERT_EQ(found.size(), 4);
  EXPECT_EQ(found[0]["prompt"], "a");
  const char* const keys[] = {"", "/tokens", "/temperature", "/id"};
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_NAMES(found[i]["error"].get<std::string>(), "prompts.jsonl:" + std::to_string(i + 1),
                 keys[i]);
}

TEST_F(Prompts, AFileThatIsMissingOrAFolderIsNamed) {
  for (const char* name : {"nowhere.jsonl", "runs"}) {
    const ProgramResult result = place_.run({"generate", "runs/tiny", "--prompts", name});
    EXPECT_NE(result.code, 0);
    EXPECT_ERROR_AT(result.err, name);
  }
}

}  // namespace
}  // namespace alibi
