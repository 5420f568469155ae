// curve.json is read back by the field list that wrote it.
#include "report/curve_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "base/files.h"

namespace alibi {
namespace {

CurveSet example() {
  CurveSet set;
  set.protocol = {Protocol::kOnePass, 32,        4,      16,    "a sentence",
                  "another",          "a third", "fp32", "cpu", "avx512"};
  set.text = {{"a.txt", "b.txt"}, "all", "0123", 640, 7, 1000, 150};
  set.command_line = "alibi evaluate";
  set.key_tokens = {"runs/judge", "ab", 128, 2048, 0.5, 2, 33};
  Curve curve;
  curve.name = "c";
  curve.position = "learned";
  curve.trained_length = 64;
  curve.train_sequence_length_scaling = 0.5;
  CurvePoint good, missing;
  good.length = 64;
  good.loss = 3.25;
  good.perplexity_low = 1.5;
  good.targets = 640;
  good.visited_share = 0.25;
  good.key = {{2, 1.5, 2.5}, {-0.25, -0.5, 0}, {0.125, 0, 0.25}};
  missing.length = 128;
  missing.applicable = false;
  missing.note = "out of memory";
  missing.out_of_memory = true;
  curve.slopes = {0.5, 0.25};
  curve.points = {good, missing};
  curve.loss_by_position = {{64, {{1, 1, 5.5, 10}, {2, 3, kNotMeasured, 0}}}};
  curve.far_context = {128, 640, {{1, 1, 5, {0.5, 0.25, 0.75}, {}, {}}}};
  set.curves = {curve, Curve()};
  return set;
}

std::string fault_of(const std::string& text) {
  try {
    parse_curves(text, "file");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(CurveFiles, GiveBackWhatWasWritten) {
  const std::string text = curve_json(example());
  const CurveSet found = parse_curves(text, "file");
  EXPECT_EQ(curve_json(found), text);
  EXPECT_EQ(found.command_line, "alibi evaluate");
  EXPECT_EQ(found.protocol.name, Protocol::kOnePass);
  EXPECT_TRUE(std::isnan(found.curves.at(0).points.at(1).loss));
  EXPECT_FALSE(found.curves.at(0).points.at(0).out_of_memory);
  EXPECT_TRUE(found.curves.at(0).points.at(1).out_of_memory);
  EXPECT_EQ(found.curves.at(0).points.at(0).visited_share, 0.25);
  EXPECT_TRUE(std::isnan(found.curves.at(0).points.at(1).visited_share));
  EXPECT_EQ(found.curves.at(0).loss_by_position.at(0).bins.at(0).loss, 5.5);
  EXPECT_EQ(found.curves.at(1).far_context.window, 0);
  EXPECT_EQ(found.key_tokens.tokens, 33);
  EXPECT_EQ(found.curves.at(0).points.at(0).key.context_gain.high, 0.25);
  EXPECT_TRUE(std::isnan(found.curves.at(0).points.at(1).key.loss.mean));
}

// As files were written before blocks were counted.
TEST(CurveFiles, ReadPointsWithoutAVisitedShare) {
  const std::string old = replaced(curve_json(example()), ",\n     \"visited_share\": 0.25", "");
  const CurveSet found = parse_curves(old, "file");
  EXPECT_TRUE(std::isnan(found.curves.at(0).points.at(0).visited_share));
  EXPECT_EQ(found.curves.at(0).points.at(0).targets, 640);
}

// Seen failing where the line of a point that ran out of memory had one cell more.
TEST(CurveFiles, EveryLineOfCsvHasTheHeadingsCells) {
  CurveSet set = example();
  set.curves.resize(1);
  set.curves[0].usable = {64, 32, 64};
  const std::string text = curve_csv(set);
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  const auto commas = std::count(line.begin(), line.end(), ',');
  EXPECT_TRUE(line.ends_with(",visited_share")) << line;
  int points = 0;
  for (; std::getline(lines, line); ++points)
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), commas) << line;
  EXPECT_EQ(points, 2);
}

TEST(CurveFiles, NameTheMemberThatDoesNotFit) {
  const std::string text = curve_json(example());
  const std::pair<const char*, const char*> wrong[] = {
      {"\"length\": 64", "\"length\": -1"},
      {"\"targets\": 640", "\"targets\": 3.5"},
      {"\"one_pass\"", "\"one way\""},
      {"\"applicable\"", "\"applied\""},
      {"\"format_version\": 3", "\"format_version\": 2"},
      {"\"kind\": \"curve\"", "\"kind\": \"usage\""}};
  const char* const pointers[] = {"/curves/0/points/0/length",
                                  "/curves/0/points/0/targets",
                                  "/protocol/name",
                                  "/curves/0/points/0/applicable",
                                  "/format_version",
                                  "/kind"};
  for (std::size_t i = 0; i < std::size(pointers); ++i) {
    const std::string fault = fault_of(replaced(text, wrong[i].first, wrong[i].second));
    EXPECT_EQ(fault.rfind(std::string("file: ") + pointers[i] + ": ", 0), 0u) << fault;
  }
  for (const char* other : {"", "{}", "[]"}) EXPECT_EQ(fault_of(other).rfind("file: ", 0), 0u);
}

// Curves that were measured before the names of protocols were those of the config.
TEST(CurveFiles, ReadTheCurvesOfTheResults) {
  int found = 0;
  const std::filesystem::path results = std::filesystem::path(ALIBI_SOURCE_DIR) / "data/results";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(results)) {
    if (entry.path().filename() != "curve.json") continue;
    const std::string file = entry.path().string();
    EXPECT_FALSE(parse_curves(read_file(file), file).curves.empty()) << file;
    ++found;
  }
  EXPECT_GE(found, 4);
}

}  // namespace
}  // namespace alibi
