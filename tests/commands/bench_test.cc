// Every benchmark runs on a tiny shape and writes figures that make sense.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "commands/cli_fixture.h"
#include "support/error_text.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

using Json = nlohmann::json;

// Runs `alibi bench ...` with --output and returns what it wrote.
Json bench(std::vector<std::string> arguments) {
  const TemporaryFolder folder;
  const std::string output = (folder.path() / "bench.json").string();
  arguments.insert(arguments.begin(), "bench");
  for (const char* more : {"--seconds", "0", "--output"}) arguments.emplace_back(more);
  arguments.push_back(output);
  ProgramOptions options;
  options.folder = folder.path();
  const ProgramResult result = run_program(arguments, options);
  EXPECT_EQ(result.code, 0) << result.err;
  return Json::parse(read_file(output));
}

const std::vector<std::string> kTiny = {
    "--set", "model.width=32", "--set", "model.heads=2",
    "--set", "model.layers=1", "--set", "tokenizer.vocabulary=300"};

Json tiny(const std::string& what, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {what};
  arguments.insert(arguments.end(), kTiny.begin(), kTiny.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return bench(arguments);
}

TEST(Bench, AttentionNamesItsKernels) {
  const Json found = tiny("attention", {"--lengths", "64", "--tokens", "128", "--kernels",
                                        "plain,reference", "--set", "run.name=it's"});
  // As a shell reads it. Seen failing with the quote inside left as it is.
  EXPECT_NE(found["command"].get<std::string>().find(" --set 'run.name=it'\\''s' "),
            std::string::npos)
      << found["command"];
  EXPECT_EQ(found["format_version"], 1);
  ASSERT_EQ(found["rows"].size(), 3u);
  EXPECT_EQ(found["rows"][0]["kernel"], "plain");
  EXPECT_EQ(found["rows"][1]["kernel"], "reference");
  for (const Json& row : found["rows"]) EXPECT_GT(row["both_seconds"], row["forward_least"]);
}

// Seen failing with one mask for all sequences, each of which hashes keys of its own.
TEST(Bench, AttentionTakesPatternsOfLayer0) {
  for (const char* pattern : {"lsh(4,32,2)", "layers 0: window(32)"}) {
    const std::vector<std::string> more = {
        "--lengths", "128",   "--tokens",
        "256",       "--set", cat("model.attention_pattern=[\"", pattern, "\"]")};
    EXPECT_GE(tiny("attention", more)["rows"].size(), 2u) << pattern;
  }
  const CliFixture place;
  const auto refused = [&](const std::string& pattern, std::vector<std::string> more) {
    more.insert(more.begin(), {"bench", "attention", "--lengths", "64", "--set",
                               "model.attention_pattern=[\"" + pattern + "\"]"});
    const ProgramResult result = place.run(more);
    EXPECT_EQ(result.code, 2) << pattern;
    EXPECT_ERROR_AT(result.err, "/model/attention_pattern");
  };
  refused("layers 3: window(32)", {});
  refused("window(32)", {"--traffic"});
}

TEST(Bench, TrafficOfFlashIsLessThanOfTheStandardAlgorithm) {
  const Json rows =
      tiny("attention", {"--traffic", "--lengths", "512", "--fast-numbers", "4096"})["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_LT(rows[1]["writes"], rows[0]["writes"]);
}

TEST(Bench, PartsOfAStepAddUp) {
  const Json rows = tiny("step", {"--lengths", "64", "--tokens", "128"})["rows"];
  double parts = 0;
  std::set<std::string> names;
  for (const Json& row : rows) {
    if (!row.contains("part")) continue;
    parts += row["seconds"].get<double>();
    names.insert(row["part"]);
  }
  EXPECT_NEAR(parts, rows[0]["profiled_seconds"].get<double>(), 1e-9);
  for (const char* name : {"linear layers", "attention", "loss", "norms", "optimizer", "embedding",
                           "outside operators"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_GT(rows[0]["tokens_per_second"], 0);
  EXPECT_GT(rows[0]["gemm_operations_per_second"], 0);
}

TEST(Bench, GemmKnowsTheModelsProducts) {
  const Json rows = tiny("gemm", {"--tokens", "64"})["rows"];
  std::vector<int> outputs;  // of LibTorch's products; what is packed comes beside them
  for (const Json& row : rows)
    if (row["by"] == "LibTorch") outputs.push_back(row["outputs"]);
  EXPECT_EQ(outputs, (std::vector<int>{96, 32, 128, 32, 300}));
}

// Seen failing with the rows of queries, keys and values where queries are keys.
TEST(Bench, GemmKnowsTheProductsOfHashedKeys) {
  const Json rows =
      tiny("gemm", {"--tokens", "64", "--set", "model.attention_pattern=[\"lsh(8,4,1)\"]"})["rows"];
  EXPECT_EQ(rows[0]["product"], "qv");
  EXPECT_EQ(rows[0]["outputs"], 64);
}

// Seen failing: from this length on a model's layers were read without values.
TEST(Bench, AttentionTakesLongInputsFromATrainedModel) {
  const CliFixture place;
  place.works({"train", "tiny.json", "--set", "run.train_tokens=1280"});
  place.put("long.txt", small_text(20'000, 3));
  place.works({"bench", "attention", "--checkpoint", "runs/tiny", "--lengths", "16384", "--tokens",
               "16384", "--seconds", "0", "--without-libtorch", "--text", "long.txt"});
  EXPECT_NAMES(place
                   .run({"bench", "attention", "--checkpoint", "runs/tiny", "--lengths", "64",
                         "--tokens", "100000"})
                   .err,
               "--tokens");
}

TEST(Bench, AttentionTakesInputsFromATrainedModel) {
  const CliFixture place;
  place.works({"train", "tiny.json"});
  const ProgramResult result =
      place.works({"bench", "attention", "--checkpoint", "runs/tiny", "--lengths", "16,32",
                   "--tokens", "32", "--seconds", "0", "--set", "runtime.device=cpu"});
  EXPECT_NAMES(result.out, "inputs:", "layer");
  EXPECT_NAMES(result.out, "libtorch mask");
  place.works(
      {"train", "tiny.json", "--set", "run.folder=runs/rotary", "--set", "model.position=rotary"});
  place.works({"bench", "attention", "--checkpoint", "runs/rotary", "--lengths", "16", "--tokens",
               "32", "--seconds", "0"});
  EXPECT_EQ(place.run({"bench", "attention", "--lengths", "0"}).code, 2);
  EXPECT_EQ(place.run({"bench", "attention", "--text", "text.txt"}).code, 2);
  EXPECT_EQ(place.run({"bench", "attention", "--set", "model.position=rotary"}).code, 2);
  EXPECT_EQ(place.run({"bench", "attention", "tiny.json", "--checkpoint", "runs/tiny"}).code, 2);
}

TEST(Bench, RefusesAFileThatCannotBeWrittenBeforeItMeasures) {
  const TemporaryFolder folder;
  ProgramOptions options;
  options.folder = folder.path();
  const ProgramResult result =
      run_program({"bench", "gemm", "--seconds", "1000", "--output", "none/x.json"}, options);
  EXPECT_EQ(result.code, 2);
  EXPECT_ERROR_AT(result.err, "--output", "none");
}

// Seen failing: any file was replaced without a word.
TEST(Bench, WritesNothingOverFilesOfOthers) {
  const CliFixture place;
  place.put("mine.json", "{\"kind\": \"curve\"}");
  const auto measure = [&](const std::string& output) {
    return place.run({"bench", "gemm", "--set", "model.width=32", "--set", "model.heads=2",
                      "--tokens", "8", "--seconds", "0", "--output", output});
  };
  for (const char* name : {"mine.json", "text.txt"}) {
    const std::string before = place.read(name);
    const ProgramResult result = measure(name);
    EXPECT_EQ(result.code, 2) << name;
    EXPECT_NAMES(result.err, name);
    EXPECT_EQ(place.read(name), before);
  }
  for (int time = 0; time < 2; ++time) EXPECT_EQ(measure("new.json").code, 0) << time;
}

// Seen failing, all: the slopes were those of the rule `press`, and the rest had no effect.
TEST(Bench, AttentionHasTheModelsBiasesAndNamesWhatHasNoEffect) {
  const auto visited = [&](const std::string& set) {
    return tiny("attention", {"--lengths", "2048", "--without-libtorch", "--kernels", "auto",
                              "--set", set})["rows"][0]["visited_share"]
        .get<double>();
  };
  EXPECT_LT(visited("model.slope_bias_max=1"), visited("model.slope_bias_max=16"))
      << "steeper slopes hide more";
  const CliFixture place;
  const auto refused = [&](const std::vector<std::string>& words, const char* named) {
    const ProgramResult result = place.run(words);
    EXPECT_EQ(result.code, 2) << named;
    EXPECT_NAMES(result.err, named);
  };
  refused({"bench", "attention", "--set", "runtime.attention.kernel=reference"},
          "runtime.attention.kernel");
  refused({"bench", "gemm", "--set", "runtime.device=cuda"}, "/runtime/device");
  place.works({"train", "tiny.json"});
  refused({"bench", "attention", "--checkpoint", "runs/tiny", "--set", "evaluate.stretch=linear"},
          "evaluate.stretch");
  refused({"inspect", "attention", "runs/tiny", "--set", "evaluate.max_tokens=1"},
          "evaluate.max_tokens");
}

TEST(Bench, ASignalEndsIt) {
  const TemporaryFolder folder;
  ProgramOptions options;
  options.folder = folder.path();
  std::vector<std::string> words = {"bench", "attention", "--seconds", "1000", "--lengths", "64"};
  words.insert(words.end(), kTiny.begin(), kTiny.end());
  RunningProgram running(words, options);
  ::usleep(1'000'000);
  running.signal(SIGTERM);
  const ProgramResult result = running.wait();
  EXPECT_EQ(result.code, 128 + SIGTERM) << result.err;
  EXPECT_ERROR_AT(result.err, "bench", SIGTERM);
}

TEST(Bench, TokenizeCountsBytes) {
  const TemporaryFolder folder;
  write_file_atomic(folder.path() / "text.txt", std::string(1000, 'x'));
  const Json rows = bench({"tokenize", "--set", "tokenizer.kind=bytes", "--text",
                           (folder.path() / "text.txt").string()})["rows"];
  EXPECT_EQ(rows[0]["bytes"], 1000);
  EXPECT_EQ(rows[0]["tokens"], 1001);  // and the end of the document
}

}  // namespace
}  // namespace alibi
