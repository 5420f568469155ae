// log.jsonl is written, read and cut back as records.
#include "report/records/run_log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/error.h"
#include "base/system_calls.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

constexpr const char* kHead = "{\"format_version\":1,\"kind\":\"log\"}\n";
constexpr const char* kStep =
    R"({"step":12,"tokens":96,"loss":3.25,"learning_rate":0.001,"gradient_norm":1e-07,"seconds":0.5})";
constexpr const char* kSkipped =
    R"({"step":13,"tokens":104,"loss":"nan","learning_rate":0.001,"gradient_norm":"inf",)"
    R"("seconds":0.5,"skipped":"loss \"nan\"","window_starts":[7,0],"rolled_back_to":0,)"
    R"("left_out_steps":[1,13]})";
constexpr const char* kValidation =
    R"({"step":12,"tokens":96,"validation_loss":3.5,"best":true,"peak_memory_bytes":1024})";
constexpr const char* kOldValidation =
    R"({"step":12,"tokens":96,"validation_loss":"-inf","best":false})";
constexpr const char* kChange = R"({"step":4,"changed":"/optimizer/learning_rate: 0.5, was 0.1"})";

std::string lines(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& line : all) text += line + "\n";
  return text;
}

std::string step_line(std::int64_t step) {
  return log_line(StepRecord{.step = step, .tokens = 8 * step, .loss = 3, .seconds = 1});
}

// Seen failing with heads that are skipped as lines of another kind.
TEST(RunLog, AnotherFormatIsRefusedAtItsLine) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "log.jsonl";
  for (const char* head :
       {R"({"format_version":2,"kind":"log"})", R"({"format_version":1,"kind":"curve"})"}) {
    std::ofstream(path) << head << "\n" << kStep << "\n";
    EXPECT_THROW(read_run_log(path), Error) << head;
    EXPECT_THROW(cut_log(path, {.step = 12}), Error) << head;
    EXPECT_EQ(std::filesystem::file_size(path),
              std::string(head).size() + std::string(kStep).size() + 2);
  }
  std::ofstream(path) << kStep << "\n";  // of the first versions: without a head
  EXPECT_EQ(read_run_log(path).steps.size(), 1u);
}

// Byte for byte: logs are compared by people and by scripts.
TEST(LogLine, IsReadAndWrittenByOneList) {
  for (const char* text : {kStep, kSkipped, kValidation, kOldValidation, kChange}) {
    const auto line = parse_log_line(text);
    ASSERT_TRUE(line && line->record) << text;
    EXPECT_EQ(log_line(*line->record), text);
  }
  const auto skipped = std::get<StepRecord>(*parse_log_line(kSkipped)->record);
  EXPECT_TRUE(std::isnan(skipped.loss) && std::isinf(skipped.gradient_norm));
  EXPECT_EQ(skipped.rolled_back_to, 0);
  EXPECT_EQ(skipped.skipped, "loss \"nan\"");
  const double awkward = 0.1 + 0.2;
  const std::string text = log_line(StepRecord{.step = 1, .loss = awkward, .skipped = "a\n\xff"});
  EXPECT_NE(text.find(R"("skipped":"a\n)"
                      "\xef\xbf\xbd\""),
            std::string::npos);
  EXPECT_EQ(std::get<StepRecord>(*parse_log_line(text)->record).loss, awkward);
}

TEST(LogLine, TellsDamageFromAnotherKind) {
  for (const char* damaged : {"", "{", "[1]", "7", "{\"step\":1", "{\"step\":1,\"step\":2}"})
    EXPECT_FALSE(parse_log_line(damaged)) << damaged;
  const auto other = parse_log_line(R"({"step":3,"event":"x"})");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->step, 3);
  EXPECT_FALSE(other->record);
  for (const char* not_as_written : {R"({"step":-1,"loss":1})", R"({"step":1.5,"loss":1})",
                                     R"({"step":1,"tokens":2,"loss":"?"})"})
    EXPECT_FALSE(parse_log_line(not_as_written)->record) << not_as_written;
}

TEST(RunLog, IsReadButForWhatIsTornOrOfAnotherKind) {
  const RunLog log = parse_run_log(kHead + lines({kStep, kSkipped, "{\"x\":1}", kValidation}) +
                                   "{\"step\":14,\"tokens\":1");
  ASSERT_EQ(log.steps.size(), 2);
  EXPECT_EQ(tokens_per_second(log.steps[0]), 16);
  ASSERT_EQ(log.validations.size(), 1);
  EXPECT_EQ(log.validations[0].validation_loss, 3.5);
  EXPECT_TRUE(parse_run_log("").steps.empty());
}

// Beside a running training, which may be writing a line; the line before may be long. Seen failing
// with the last 4 KiB read only.
TEST(ReadLoggedTokens, TakesTheNewestWholeLine) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "log.jsonl";
  EXPECT_EQ(read_logged_tokens(path), 0);
  const auto tokens_in = [&](const std::string& text) {
    std::ofstream(path) << text;
    return read_logged_tokens(path);
  };
  EXPECT_EQ(tokens_in(""), 0);
  EXPECT_EQ(tokens_in(kHead), 0);
  EXPECT_EQ(tokens_in(lines({kStep, kChange}) + "{\"step\":14,\"tok"), 96);
  std::string many;
  for (std::int64_t step = 1; step <= 100; ++step) many += step_line(step) + "\n";
  EXPECT_EQ(tokens_in(many), 800);
  StepRecord wide{.step = 101, .tokens = 808, .skipped = "why"};
  wide.window_starts.assign(4096, 1234567);
  EXPECT_EQ(tokens_in(many + log_line(wide) + "\n"), 808);
}

TEST(LogWriter, AppendsAcrossOpenings) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "log.jsonl";
  { const LogWriter without_a_record(path); }
  EXPECT_EQ(std::filesystem::file_size(path), 0U);
  LogWriter(path).append(*parse_log_line(kStep)->record);
  LogWriter writer(path);
  writer.append(*parse_log_line(kValidation)->record);
  writer.sync();
  EXPECT_EQ(read_file(path), kHead + lines({kStep, kValidation}));
  EXPECT_THROW(LogWriter(folder.path() / "missing" / "log.jsonl"), Error);
}

// Seen failing with a record that goes on where the torn line ends.
TEST(LogWriter, BeginsALineOfItsOwnAfterAFailedWrite) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "log.jsonl";
  for (const char* torn : {"", "{\"st"}) {
    std::filesystem::remove(path);
    LogWriter writer(path);
    set_system_call_hook([&](SystemCall call, const std::filesystem::path&) {
      if (call != SystemCall::kWrite) return 0;
      std::ofstream(path, std::ios::app) << torn;
      return ENOSPC;
    });
    EXPECT_THROW(writer.append(*parse_log_line(kStep)->record), Error);
    set_system_call_hook({});
    writer.append(*parse_log_line(kStep)->record);
    writer.append(*parse_log_line(kValidation)->record);
    EXPECT_EQ(read_run_log(path).steps.size(), 1U);
    EXPECT_EQ(read_run_log(path).validations.size(), 1U);
    EXPECT_TRUE(read_file(path).ends_with(kHead + lines({kStep, kValidation})));
  }
}

TEST(CutLog, KeepsTheStepAndItsCompany) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "log.jsonl";
  const std::string kept = kHead + lines({step_line(1), step_line(2), R"({"event":"of 2"})"});
  std::ofstream(path) << kept << lines({step_line(3), R"({"event":"of 3"})", step_line(4)});
  const KeptLog cut = cut_log(path, {.step = 2});
  EXPECT_EQ(cut.dropped, 3);
  EXPECT_EQ(cut.log.steps.size(), 2U);
  EXPECT_EQ(read_file(path), kept);
  EXPECT_EQ(cut_log(path, {.step = 2}).dropped, 0);
  EXPECT_EQ(cut_log(path, {.step = 0}).dropped, 3);
  EXPECT_EQ(read_file(path), kHead);
}

// A validation that is made again is not logged twice. Seen failing with all of the step's lines
// kept.
TEST(CutLog, DropsAValidationThatIsMadeAgain) {
  const std::string text = lines({kStep, kValidation, kStep});
  EXPECT_EQ(cut_log_text(text, {.step = 12}).text, text);
  const KeptLog again = cut_log_text(text, {.step = 12, .validated = false});
  EXPECT_EQ(again.text, lines({kStep, kStep}));
  EXPECT_TRUE(again.log.validations.empty());
  EXPECT_EQ(cut_log_text(text, {.step = 13, .validated = false}).text, text);
}

TEST(CutLog, DropsTornLines) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "log.jsonl";
  const std::vector<std::string> ends = {"{\"step\":2", "{\"step\":2}", "",
                                         "\n",          "[1]\n",        std::string(5, 0)};
  for (const std::string& torn : ends) {
    std::ofstream(path) << "{\"step\":1}\n" << torn;
    EXPECT_EQ(cut_log(path, {.step = 9}).dropped, torn.empty() ? 0 : 1) << torn;
    EXPECT_EQ(read_file(path), "{\"step\":1}\n");
    EXPECT_EQ(cut_log(path, {.step = 9}).last_step, 1);
  }
  std::ofstream(path) << "{\"step\":1}\n{\"st\n{\"step\":2}\n";
  const KeptLog kept = cut_log(path, {.step = 2});
  EXPECT_EQ(kept.dropped, 1);
  EXPECT_EQ(kept.damaged, 1);
  EXPECT_EQ(kept.last_step, 2);
  EXPECT_EQ(read_file(path), "{\"step\":1}\n{\"step\":2}\n");
}

TEST(CutLog, MissingFileIsFine) {
  const TemporaryFolder folder;
  EXPECT_EQ(cut_log(folder.path() / "none.jsonl", {.step = 3}).dropped, 0);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "none.jsonl"));
}

}  // namespace
}  // namespace alibi
