// What models answered: table, files and page.
#include "report/answers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/markup.h"

namespace alibi {
namespace {

AnswersCell cell(std::int64_t length, double depth, std::int64_t found, double gain) {
  AnswersCell one;
  one.length = length;
  one.depth = depth;
  one.trials = 20;
  one.answers = 20;
  one.right = found;
  one.share = static_cast<double>(found) / 20;
  one.loss = {2, 1.5, 2.5};
  one.share_low = 0.1;
  one.share_high = 0.6;
  one.gain = {gain, gain - 0.1, gain + 0.1};
  return one;
}

AnswersSet example() {
  AnswersSet set;
  set.task = "passkey";
  set.unit = "documents";
  set.documents = 2;
  AnswersResult alibi{"alibi, \"4 layers\"", "alibi", "runs/a", 10, 128, {}};
  alibi.cells = {cell(256, 0, 5, 0.5), cell(256, 1, 20, 1.5), cell(512, 0, 0, -0.25),
                 cell(512, 1, 10, 0.25)};
  AnswersResult learned{"learned", "learned", "runs/l", 10, 128, {}};
  learned.cells = {cell(256, 0, 1, 0), cell(256, 1, 2, 0), {}, {}};
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) {
    learned.cells[i].length = 512;
    learned.cells[i].depth = i == 2 ? 0 : 1;
    learned.cells[i].note = "learned positions end at 256";
  }
  set.results = {alibi, learned};
  return set;
}

TEST(AnswersReport, TheTableHasARowOfEachModelAndLength) {
  const std::string text = answers_table(example());
  for (const char* words : {"25 %", "100 %", "0 %", "50 %", "learned positions end at 256"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  EXPECT_NE(text.find("+1.0"), std::string::npos) << "the mean gain at 256\n" << text;
}

TEST(AnswersReport, JsonAndCsvHoldEveryCell) {
  const nlohmann::json json = nlohmann::json::parse(answers_json(example()));
  EXPECT_EQ(json["kind"], "answers");
  EXPECT_EQ(json["task"], "passkey");
  EXPECT_EQ(json["documents"], 2);
  ASSERT_EQ(json["results"].size(), 2U);
  EXPECT_EQ(json["results"][0]["cells"][1]["right"], 20);
  EXPECT_EQ(json["results"][0]["cells"][2]["gain"], -0.25);
  EXPECT_EQ(json["results"][1]["cells"][3]["note"], "learned positions end at 256");
  EXPECT_TRUE(json["results"][1]["cells"][3]["share"].is_null());
  const std::string csv = answers_csv(example());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 9);
  EXPECT_NE(csv.find("\"alibi, \"\"4 layers\"\"\""), std::string::npos) << csv;
}

TEST(AnswersReport, IsReadBackAsItWasWritten) {
  const std::string text = answers_json(example());
  EXPECT_EQ(answers_json(parse_answers(text, "x")), text);
}

TEST(AnswersReport, ATaskWithoutDepthHasOneShareARow) {
  AnswersSet set = example();
  set.task = "recall";
  set.unit = "pairs";
  set.results.pop_back();
  set.results[0].cells = {cell(256, kNotMeasured, 5, kNotMeasured)};
  const std::string text = answers_table(set);
  EXPECT_NE(text.find("pairs"), std::string::npos) << text;
  EXPECT_NE(text.find("25 %"), std::string::npos) << text;
  EXPECT_EQ(text.find("gain"), std::string::npos) << text;
  EXPECT_EQ(text.find("depth"), std::string::npos) << text;
  EXPECT_FALSE(test::read_markup(answers_page(set, "")).empty());
}

// Three texts give no interval. Seen failing with "nan to nan %".
TEST(AnswersReport, AShareWithoutIntervalHasNone) {
  AnswersSet set = example();
  set.results[0].cells[0].share_low = set.results[0].cells[0].share_high = kNotMeasured;
  EXPECT_EQ(answers_page(set, "").find("nan"), std::string::npos);
}

TEST(AnswersReport, ThePageIsWellFormed) {
  const auto elements = test::read_markup(answers_page(example(), "a <title>"));
  EXPECT_FALSE(elements.empty());
}

}  // namespace
}  // namespace alibi
