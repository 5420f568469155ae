// What was found of hidden keys: table, files and page.
#include "report/passkey.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/markup.h"

namespace alibi {
namespace {

PasskeyCell cell(std::int64_t length, double depth, std::int64_t found, double gain) {
  PasskeyCell one;
  one.length = length;
  one.depth = depth;
  one.trials = 20;
  one.found = found;
  one.share_low = 0.1;
  one.share_high = 0.6;
  one.gain = {gain, gain - 0.1, gain + 0.1};
  return one;
}

PasskeySet example() {
  PasskeySet set;
  set.documents = 2;
  PasskeyResult alibi{"alibi, \"4 layers\"", "alibi", "runs/a", 128, {}};
  alibi.cells = {cell(256, 0, 5, 0.5), cell(256, 1, 20, 1.5), cell(512, 0, 0, -0.25),
                 cell(512, 1, 10, 0.25)};
  PasskeyResult learned{"learned", "learned", "runs/l", 128, {}};
  learned.cells = {cell(256, 0, 1, 0), cell(256, 1, 2, 0), {}, {}};
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) {
    learned.cells[i].length = 512;
    learned.cells[i].depth = i == 2 ? 0 : 1;
    learned.cells[i].note = "learned positions end at 256";
  }
  set.results = {alibi, learned};
  return set;
}

TEST(PasskeyReport, TheTableHasARowOfEachModelAndLength) {
  const std::string text = passkey_table(example());
  for (const char* words : {"25 %", "100 %", "0 %", "50 %", "learned positions end at 256"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  EXPECT_NE(text.find("+1.0"), std::string::npos) << "the mean gain at 256\n" << text;
}

TEST(PasskeyReport, JsonAndCsvHoldEveryCell) {
  const nlohmann::json json = nlohmann::json::parse(passkey_json(example()));
  EXPECT_EQ(json["kind"], "passkey");
  EXPECT_EQ(json["documents"], 2);
  ASSERT_EQ(json["cells"].size(), 8U);
  EXPECT_EQ(json["cells"][1]["found"], 20);
  EXPECT_EQ(json["cells"][2]["gain"], -0.25);
  EXPECT_EQ(json["cells"][7]["note"], "learned positions end at 256");
  EXPECT_FALSE(json["cells"][7].contains("found"));
  const std::string csv = passkey_csv(example());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 9);
  EXPECT_NE(csv.find("\"alibi, \"\"4 layers\"\"\""), std::string::npos) << csv;
}

TEST(PasskeyReport, ThePageIsWellFormed) {
  const auto elements = test::read_markup(passkey_page(example(), "a <title>"));
  EXPECT_FALSE(elements.empty());
}

}  // namespace
}  // namespace alibi
