#include "report/jsonl.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

TEST(JsonLine, KeepsOrderTypesAndSpellsNonFinite) {
  EXPECT_EQ(
      json_line({{"step", 12},
                 {"loss", 3.25},
                 {"event", "save"},
                 {"best", true},
                 {"bad", NAN},
                 {"up", INFINITY},
                 {"down", -INFINITY}}),
      R"({"step":12,"loss":3.25,"event":"save","best":true,"bad":"nan","up":"inf","down":"-inf"})");
  EXPECT_EQ(json_line({{"text", "a\"\n\xff"}}), "{\"text\":\"a\\\"\\n\xef\xbf\xbd\"}");
  const double awkward = 0.1 + 0.2;
  EXPECT_EQ(nlohmann::json::parse(json_line({{"x", awkward}}))["x"].get<double>(), awkward);
}

TEST(JsonLines, AppendsAcrossOpenings) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "log.jsonl";
  JsonLines(path).append({{"step", 1}});
  JsonLines lines(path);
  lines.append({{"step", 2}});
  lines.sync();
  lines.close();
  EXPECT_EQ(read_file(path),
            "{\"format_version\":1,\"kind\":\"log\"}\n{\"step\":1}\n{\"step\":2}\n");
  EXPECT_THROW(JsonLines(folder.path() / "missing" / "log.jsonl"), Error);
}

TEST(TruncateAfterStep, KeepsTheStepAndItsCompany) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "log.jsonl";
  const std::string kept =
      "{\"format_version\":1}\n{\"step\":1}\n{\"step\":2}\n{\"event\":\"of 2\"}\n";
  std::ofstream(path) << kept << "{\"step\":3}\n{\"event\":\"of 3\"}\n{\"step\":4}\n";
  EXPECT_EQ(truncate_after_step(path, {2}).dropped, 3);
  EXPECT_EQ(read_file(path), kept);
  EXPECT_EQ(truncate_after_step(path, {2}).dropped, 0);
  EXPECT_EQ(truncate_after_step(path, {0}).dropped, 3);
  EXPECT_EQ(read_file(path), "{\"format_version\":1}\n");
}

TEST(TruncateAfterStep, DropsTornLines) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "log.jsonl";
  const std::vector<std::string> ends = {"{\"step\":2", "{\"step\":2}", "",
                                         "\n",          "[1]\n",        std::string(5, 0)};
  for (const std::string& torn : ends) {
    std::ofstream(path) << "{\"step\":1}\n" << torn;
    EXPECT_EQ(truncate_after_step(path, {9}).dropped, torn.empty() ? 0 : 1) << torn;
    EXPECT_EQ(read_file(path), "{\"step\":1}\n");
    EXPECT_EQ(truncate_after_step(path, {9}).last_step, 1);
  }
  std::ofstream(path) << "{\"step\":1}\n{\"st\n{\"step\":2}\n";
  const KeptLines kept = truncate_after_step(path, {2});
  EXPECT_EQ(kept.dropped, 1);
  EXPECT_EQ(kept.damaged, 1);
  EXPECT_EQ(kept.last_step, 2);
  EXPECT_EQ(read_file(path), "{\"step\":1}\n{\"step\":2}\n");
}

TEST(TruncateAfterStep, MissingFileIsFine) {
  const TemporaryFolder folder;
  EXPECT_EQ(truncate_after_step(folder.path() / "none.jsonl", {3}).dropped, 0);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "none.jsonl"));
}

}  // namespace
}  // namespace alibi
