// Memory before the start: what is refused, what is made smaller, and what inspect memory prints.
// Seen failing with the refusal left out, with the planned micro batch not taken, with inspect's
// limit a thousand times too large (twice: the slow test), and with recompute=blocks counted as
// without.
#include <gtest/gtest.h>

#include "commands/cli_fixture.h"
#include "support/error_text.h"

namespace alibi {
namespace {

TEST(Memory, ARunThatCannotFitIsRefusedBeforeItStarts) {
  const CliFixture place;
  const ProgramResult refused =
      place.run({"train", "tiny.json", "--set", "runtime.memory_limit_bytes=1000000"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_ERROR_AT(refused.err, "memory", "weights", "activations", "8/9", "977 KiB",
                  "runtime.memory_limit_bytes", "runtime.recompute");
  EXPECT_FALSE(place.has("runs")) << "nothing is left behind";
}

// 512 sequences of 128 do not fit beside the program, a part of them does; the run is then the one
// that was configured so.
TEST(Memory, ABatchThatDoesNotFitIsTakenInParts) {
  const CliFixture place;
  const std::vector<std::string> large = {"train", "tiny.json",
                                          "--set", "batch.sequences=512",
                                          "--set", "run.train_tokens=65536",
                                          "--set", "run.save_every_tokens=65536",
                                          "--set", "run.evaluate_every_tokens=65536"};
  auto limited = large;
  limited.insert(limited.end(), {"--set", "runtime.memory_limit_bytes=200000000"});
  const ProgramResult result = place.works(limited);
  EXPECT_NAMES(result.err, "warning: memory:");
  EXPECT_NAMES(result.err, "micro batches", "32,768");
  const nlohmann::json progress = place.json("runs/tiny/checkpoints/step-00000002/progress.json");
  const std::int64_t tokens = progress["micro_batch_tokens"];
  EXPECT_GT(tokens, 0);
  EXPECT_LT(tokens, 32768);
  auto by_hand = large;
  by_hand.insert(by_hand.end(), {"--set", "run.name=by-hand", "--set",
                                 "batch.micro_batch_tokens=" + std::to_string(tokens)});
  place.works(by_hand);
  const std::string weights = "/checkpoints/step-00000002/weights.safetensors";
  EXPECT_TRUE(place.read("runs/tiny" + weights) == place.read("runs/by-hand" + weights));
}

TEST(Memory, InspectListsTheLargestBatchOfEachLength) {
  const CliFixture place;
  const std::string text =
      place.works({"inspect", "memory", "tiny.json", "--limit", "1GiB", "--lengths", "64,1024"})
          .out;
  for (const char* words : {"parts", "activations", "limit", "1.0 GiB", "--limit",
                            "recompute=blocks", "\n            64  ", "\n         1,024  "})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  {
    std::string row = text.substr(text.find("\n            64  "));
    std::erase(row, ',');
    std::int64_t length = 0, plain = 0, blocks = 0;
    std::string skip;
    std::istringstream(row) >> length >> plain >> skip >> skip >> skip >> blocks;
    EXPECT_GT(blocks, plain);
  }
  for (const char* limit : {"much", "12"}) {
    const ProgramResult wrong = place.run({"inspect", "memory", "tiny.json", "--limit", limit});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_ERROR_AT(wrong.err, "--limit", limit, "12GiB");
  }
  EXPECT_NAMES(place.works({"inspect", "memory", "tiny.json", "--limit", "1MB"}).out, "not fit");
  // As training keeps it. Seen failing with what the machine has.
  const std::string kept =
      place.works({"inspect", "memory", "tiny.json", "--set", "runtime.memory_limit_bytes=1000000"})
          .out;
  EXPECT_NAMES(kept, "not fit");
  EXPECT_NAMES(kept, "limit:", "runtime.memory_limit_bytes");
  const std::string multiples =
      place.works({"inspect", "memory", "tiny.json", "--lengths", "1x,4x"}).out;
  for (const char* row : {"\n            16  ", "\n            64  "})
    EXPECT_NE(multiples.find(row), std::string::npos) << multiples;
  const ProgramResult longest =
      place.run({"inspect", "memory", "tiny.json", "--lengths", "16777217"});
  EXPECT_EQ(longest.code, 2);
  EXPECT_ERROR_AT(longest.err, "--lengths", "16777217", "16,777,216");
}

// Memory that really runs out, under a limit that the plan is told not to believe; what runs later
// compiles kernels of other shapes. Seen failing (139) without make_room_for_code.
TEST(MemorySlow, ALimitInTheMiddleOfAStepHalvesIt) {
  const CliFixture place;
  ProgramOptions options = place.options();
  options.program = "/bin/sh";
  const std::string settings =
      " train tiny.json --set model.width=64 --set model.layers=4 --set model.heads=4 --set "
      "batch.sequences=1024 --set run.train_tokens=65536 --set "
      "runtime.memory_limit_bytes=8000000000";
  const ProgramResult result = run_program(
      {"-c", std::string("ulimit -v 1000000; exec ") + ALIBI_BINARY + settings}, options);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NAMES(result.err, "warning:", "memory");
}

// The batches it prints, run: they stay below the limit, and use it. Pages of LibTorch's files,
// which go back where memory is short, come in larger pieces from some files than from others: what
// there is of them above the plan's share does not count.
TEST(MemorySlow, WhatInspectPrintsRunsAtTheLimit) {
  const CliFixture place;
  const std::vector<std::string> model = {
      "tiny.json",     "--set",           "model.layers=4",
      "--set",         "model.width=192", "--set",
      "model.heads=4", "--set",           "batch.train_sequence_length_scaling=1"};
  const auto with = [&](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), model.begin(), model.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  constexpr double kLimit = 500e6;
  constexpr std::int64_t kProgram = 130 << 20;  // of the plan
  for (const std::string length : {"64", "256"}) {
    const ProgramResult inspected =
        place.works(with({"inspect", "memory"}, {"--limit", "500MB", "--lengths", length}));
    const std::string& text = inspected.out;
    const double beside = std::max(0.0, static_cast<double>(inspected.peak_bytes - kProgram));
    const std::size_t row = text.find(length, text.find("\n---"));
    std::int64_t sequences = 0;
    std::istringstream(text.substr(row + length.size())) >> sequences;
    ASSERT_GT(sequences, 1) << text;
    std::filesystem::remove_all(place.path("runs"));
    const std::string step = std::to_string(sequences * std::stoll(length));
    place.works(with({"train"}, {"--set", "batch.sequence_length=" + length, "--set",
                                 "batch.sequences=" + std::to_string(sequences), "--set",
                                 "batch.micro_batch_tokens=" + step, "--set",
                                 "run.train_tokens=" + std::to_string(12 * std::stoll(step)),
                                 "--set", "run.save_every_tokens=" + step, "--set",
                                 "run.evaluate_every_tokens=" + step}));
    std::int64_t peak = 0;
    std::istringstream log(place.read("runs/tiny/log.jsonl"));
    for (std::string line; std::getline(log, line);)
      peak = nlohmann::json::parse(line).value("peak_memory_bytes", peak);
    EXPECT_LT(static_cast<double>(peak), kLimit + beside) << text;
    EXPECT_GT(static_cast<double>(peak), 0.6 * kLimit) << text;
  }
}

}  // namespace
}  // namespace alibi
