// What is made of a run's records: CSV, TensorBoard's records and the page. That TensorBoard itself
// reads them: tests/interop/logs_test.cc.
#include "report/run_export.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "report/event_file.h"
#include "report/markup.h"
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
    "{\"step\":2,\"tokens\":200,\"validation_loss\":5.25,\"best\":true,\"peak_memory_bytes\":1024}"
    "\n"
    "{\"step\":3,\"tokens\":300,\"lo";  // torn

TEST(RunCsv, HasALineAStep) {
  EXPECT_EQ(run_csv(parse_run_log(kLog)),
            "step,tokens,loss,learning_rate,gradient_norm,tokens_per_second,validation_loss,"
            "peak_memory_bytes,skipped\n"
            "1,100,5.5,0.001,2,200,,,\n"
            "2,200,,0.001,,400,5.25,1024,\"loss nan, \"\"really\"\"\"\n");
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

TEST(EventFile, OnlyNewStepsAreExported) {
  const RunLog log = parse_run_log(kLog);
  const auto exports = [&](const ExportedCounts& exported, const char* name) {
    return run_event_records(log, exported, 1).find(name) != std::string::npos;
  };
  EXPECT_TRUE(exports({}, "train/loss") && exports({}, "valid/perplexity"));
  // A validation is logged behind its step, which may have been exported alone.
  EXPECT_TRUE(exports({log.steps.size(), 0}, "valid/perplexity"));
  EXPECT_FALSE(exports({log.steps.size(), 0}, "train/loss"));
  EXPECT_FALSE(exports({0, log.validations.size()}, "valid/perplexity"));
  EXPECT_EQ(run_event_records(log, {log.steps.size(), log.validations.size()}, 1), "");
}

TEST(RunPage, IsWellFormedAndLivesWhileTheRunDoes) {
  RunPage page{"a <run>", "now", true, 400, {{"seed", "3"}}, {"text </pre> & \x01"}, "{\"a\": 1}"};
  const std::string alive = run_page(page, parse_run_log(kLog));
  EXPECT_NE(alive.find("http-equiv=\"refresh\""), std::string::npos);
  EXPECT_NAMES(alive, 200, 400, "50.0 %");
  EXPECT_EQ(alive.find("</pre> &"), std::string::npos) << "samples are escaped";
  EXPECT_EQ(alive.find("src="), std::string::npos) << "nothing from outside";
  EXPECT_EQ(alive.find("<script"), std::string::npos);
  page.alive = false;
  const std::string dead = run_page(page, parse_run_log(kLog));
  EXPECT_EQ(dead.find("http-equiv"), std::string::npos);
  EXPECT_NAMES(run_page(page, {}), "seed", 3) << "an empty log";
}

}  // namespace
}  // namespace alibi
