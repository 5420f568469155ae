// What is made of a run's records: CSV, TensorBoard's records and the page. That TensorBoard itself
// reads them: tests/interop/logs_test.cc.
#include "report/run_export.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "report/event_file.h"
#include "report/markup.h"
#include "report/records/run_log.h"
#include "report/run_page.h"
#include "support/error_text.h"

namespace alibi {
namespace {

constexpr const char* kLog =
    "{\"format_version\":1,\"kind\":\"log\"}\n"
    "{\"step\":1,\"tokens\":100,\"loss\":5.5,\"learning_rate\":0.001,\"gradient_norm\":2,"
    "\"seconds\":0.5}\n"
    "{\"step\":2,\"tokens\":200,\"loss\":\"nan\",\"learning_rate\":0.001,\"gradient_norm\":\"inf\","
    "\"seconds\":0.25,\"skipped\":\"loss nan, \\\"really\\\"\",\"window_starts\":[1]}\n"
    "{\"step\":2,\"tokens\":200,\"validation_loss\":5.25,\"best\":true,\"peak_memory_bytes\":"
    "284086272}"
    "\n"
    "{\"step\":3,\"tokens\":300,\"lo";  // torn

constexpr const char* kHeading =
    "step,tokens,loss,learning_rate,gradient_norm,tokens_per_second,validation_loss,"
    "peak_memory_bytes,skipped\n";

// Seen failing with the line of a step written before its validation.
TEST(RunCsv, HasALineAStepOnceItIsWhole) {
  const RunLog log = parse_run_log(kLog);
  RunCsv csv;
  csv.add(log.steps[0]);
  EXPECT_EQ(csv.take(false), kHeading);
  csv.add(log.steps[1]);
  EXPECT_EQ(csv.take(false), "1,100,5.5,0.001,2,200,,,\n");
  csv.add(log.validations[0]);
  EXPECT_EQ(csv.take(true), "2,200,,0.001,,400,5.25,284086272,\"loss nan, \"\"really\"\"\"\n");
  EXPECT_EQ(csv.take(true), "");
}

TEST(EventFile, ChecksumsAreCastagnolis) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283);
  EXPECT_EQ(crc32c(""), 0);
}

// Byte for byte: length, its checksum, the message, its checksum.
TEST(EventFile, ARecordIsFramed) {
  const std::string head = event_file_head(1.0);
  std::uint64_t length = 0;
  std::memcpy(&length, head.data(), 8);
  ASSERT_EQ(head.size(), length + 16);
  EXPECT_EQ(head.substr(12, 9), std::string("\x09\0\0\0\0\0\0\xf0\x3f", 9));
  EXPECT_EQ(head.substr(21, 15),
            "\x1a\x0d"
            "brain.Event:2");
  const std::string record = event_record(1.0, 300, {{"a", 0.5F}});
  EXPECT_EQ(record.substr(21, record.size() - 25),
            std::string("\x10\xac\x02\x2a\x0a\x0a\x08\x0a\x01"
                        "a\x15\0\0\0\x3f",
                        15));
}

TEST(EventFile, HoldsTheFiguresOfARecord) {
  const RunLog log = parse_run_log(kLog);
  const std::string step = event_record(log.steps[0], 1);
  const std::string validation = event_record(log.validations[0], 1);
  for (const char* name : {"train/loss", "train/learning_rate", "train/gradient_norm"})
    EXPECT_NE(step.find(name), std::string::npos) << name;
  for (const char* name : {"valid/loss", "valid/perplexity", "memory/peak_bytes"})
    EXPECT_NE(validation.find(name), std::string::npos) << name;
  EXPECT_EQ(event_record(log.steps[1], 1).find("train/loss"), std::string::npos) << "nan";
}

// Seen failing with groups that are joined without their counts.
TEST(RunHistory, ThinsAWholeRunToMeansOfEqualGroups) {
  ThinnedLine line;
  constexpr int kRecords = 10'000;
  for (int i = 0; i < kRecords; ++i) line.add(i, i % 2 == 0 ? i : std::nan(""));
  const auto points = line.points();
  ASSERT_GE(points.size(), 150u);
  ASSERT_LE(points.size(), 300u);
  double before = -1;
  for (const PlotPoint& point : points) {
    const double records = point.x - before;  // of its group, up to and with tokens x
    EXPECT_NEAR(point.y, (before + 1 + point.x) / 2, 1) << point.x;
    EXPECT_EQ(static_cast<int>(records) % 2, 0);
    before = point.x;
  }
  EXPECT_EQ(points.back().x, kRecords - 1);
}

RunHistory history_of(const RunLog& log) {
  RunHistory history;
  for (const StepRecord& step : log.steps) history.add(step);
  for (const ValidationRecord& validation : log.validations) history.add(validation);
  return history;
}

TEST(RunPage, IsWellFormedAndLivesWhileTheRunDoes) {
  RunPage page{"a <run>",   "now", RunState::kRunning, 400, {{"seed", "3"}}, {"text </pre> & \x01"},
               "{\"a\": 1}"};
  const std::string alive = run_page(page, history_of(parse_run_log(kLog)));
  EXPECT_NE(alive.find("http-equiv=\"refresh\""), std::string::npos);
  EXPECT_NAMES(alive, 200, 400, "50.0 %");
  EXPECT_EQ(alive.find("</pre> &"), std::string::npos) << "samples are escaped";
  EXPECT_EQ(alive.find("src="), std::string::npos) << "nothing from outside";
  EXPECT_EQ(alive.find("<script"), std::string::npos);
  const std::pair<RunState, const char*> ends[] = {{RunState::kFinished, "finished"},
                                                   {RunState::kStopped, "stopped"},
                                                   {RunState::kFailed, "failed"}};
  for (const auto& [state, text] : ends) {
    page.state = state;
    const std::string ended = run_page(page, history_of(parse_run_log(kLog)));
    EXPECT_EQ(ended.find("http-equiv"), std::string::npos);
    EXPECT_NAMES(ended, text);
  }
  EXPECT_NAMES(run_page(page, {}), "seed", 3) << "an empty log";
}

}  // namespace
}  // namespace alibi
