// Runs of the real program that are interrupted at random moments, and what they must come to.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/checksums.h"
#include "base/clock.h"
#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "commands/cli_fixture.h"
#include "faults/rounds.h"
#include "support/log_lines.h"

namespace alibi {

class KilledRuns : public testing::Test {
 protected:
  // Fifty steps, saved at each.
  static std::vector<std::string> command(const std::string& run,
                                          const std::vector<std::string>& changes = {}) {
    std::vector<std::string> words = {"train",
                                      "tiny.json",
                                      "--resume",
                                      "--set",
                                      "run.name=" + run,
                                      "--set",
                                      "run.train_tokens=12800",
                                      "--set",
                                      "run.save_every_tokens=256",
                                      "--set",
                                      "model.residual_dropout=0.1"};
    for (const std::string& change : changes) {
      words.push_back("--set");
      words.push_back(change);
    }
    return words;
  }

  std::filesystem::path checkpoints(const std::string& run) const {
    return place_.path("runs/" + run + "/checkpoints");
  }

  // The step of the newest whole checkpoint, -1 when there is none. None may be damaged.
  std::int64_t newest_step(const std::string& run) const {
    std::vector<std::string> skipped;
    const auto newest = newest_valid_checkpoint(checkpoints(run), &skipped);
    EXPECT_TRUE(skipped.empty()) << skipped.front();
    return newest ? load_checkpoint(*newest, Load::kWeights).progress.step : -1;
  }

  // The last step that the log tells of, 0 when there is none.
  std::int64_t logged_step(const std::string& run) const {
    std::int64_t step = 0;
    if (!place_.has("runs/" + run + "/log.jsonl")) return step;
    std::istringstream log(place_.read("runs/" + run + "/log.jsonl"));
    for (std::string line; std::getline(log, line);) {
      const nlohmann::json fields = nlohmann::json::parse(line, nullptr, false);  // or half a line
      if (fields.is_object() && fields.contains("step")) step = fields["step"];
    }
    return step;
  }

  void wait_for_a_step(const std::string& run) const {
    const double end = seconds_now() + 20;
    while (logged_step(run) == 0 && seconds_now() < end) ::usleep(2'000);
  }

  // SHA-256 of weights, moments, progress and the log without its times.
  std::string digest(const std::string& run) const {
    const auto newest = newest_valid_checkpoint(checkpoints(run));
    if (!newest) return "no checkpoint";
    std::string all;
    for (const char* file : {"weights.safetensors", "optimizer.safetensors", "progress.json"})
      all += read_file(*newest / file);
    for (const std::string& line : log_lines(place_.path("runs/" + run))) all += line + "\n";
    return sha256_hex(all);
  }

  // What an uninterrupted run comes to, and how long it takes.
  void run_whole(const std::vector<std::string>& changes = {}) {
    const ProgramResult result = place_.works(command("whole", changes));
    whole_ = digest("whole");
    seconds_ = result.seconds;
  }

  void time_again(const std::vector<std::string>& changes = {}) {
    seconds_ = place_.works(command("timed", changes)).seconds;
    forget("timed");
  }

  void forget(const std::string& run) const {
    std::filesystem::remove_all(place_.path("runs/" + run));
  }

  CliFixture place_;
  std::string whole_;
  double seconds_ = 0;
};

}  // namespace alibi
