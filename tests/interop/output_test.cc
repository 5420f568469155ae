// What commands print with --json is one document that configs/output.schema.json allows. Needs
// scripts/setup --verify.
#include <cstdlib>

#include "base/strings.h"
#include "commands/cli_fixture.h"

namespace alibi {
namespace {

class OutputInterop : public testing::Test {
 protected:
  void SetUp() override {
    const char* python = std::getenv("ALIBI_VERIFY_PYTHON");
    if (python == nullptr) GTEST_SKIP() << "ALIBI_VERIFY_PYTHON is not set (scripts/test --all)";
    python_ = python;
    place_.works({"train", "tiny.json"});
  }

  // What the schema's checker says of files: kinds, or what is wrong.
  ProgramResult check(const std::vector<std::string>& files) const {
    ProgramOptions options = place_.options();
    options.program = python_;
    std::vector<std::string> arguments = {ALIBI_SOURCE_DIR "/tests/interop/output.py",
                                          ALIBI_SOURCE_DIR "/configs/output.schema.json"};
    arguments.insert(arguments.end(), files.begin(), files.end());
    return run_program(arguments, options);
  }

  CliFixture place_;
  std::string python_;
};

TEST_F(OutputInterop, EveryCommandPrintsWhatTheSchemaAllows) {
  place_.put("two.json", R"({"base": "tiny.json", "folder": "all", "seeds": [1],
    "config": {"run": {"train_tokens": 640}},
    "variants": {"alibi": {}, "none": {"model": {"position": "none"}}}})");
  const std::vector<std::pair<std::string, std::vector<std::string>>> commands = {
      {"curve", {"evaluate", "runs/tiny", "--set", "evaluate.key_tokens.evaluator=runs/tiny"}},
      {"answers",
       {"evaluate", "runs/tiny", "--set", "evaluate.task=passkey", "--lengths", "128", "--set",
        "evaluate.answers.trials=2"}},
      {"plan", {"compare", "two.json", "--plan"}},
      {"comparison", {"compare", "two.json", "--output", "page"}},
      {"text", {"prepare", "tiny.json", "--output", "prepared"}},
      {"text", {"inspect", "data", "tiny.json"}},
      {"model", {"inspect", "model", "tiny.json"}},
      {"memory", {"inspect", "memory", "tiny.json", "--lengths", "16,1024"}},
      {"bias", {"inspect", "bias", "tiny.json", "--out", "bias.svg"}},
      {"checkpoint", {"inspect", "checkpoint", "runs/tiny"}},
      {"attention", {"inspect", "attention", "runs/tiny", "--out", "attention.html"}},
      {"training",
       {"train", "tiny.json", "--set", "run.name=short", "--set", "run.train_tokens=64"}},
      {"generation", {"generate", "runs/tiny", "--prompt", "a", "--tokens", "4"}},
      {"export", {"export", "runs/tiny", "--to", "hf", "--output", "exported"}},
      {"import", {"import", "exported"}},
      {"bench", {"bench", "gemm", "tiny.json", "--tokens", "64", "--seconds", "0.01"}},
      {"bench",
       {"bench", "step", "tiny.json", "--lengths", "16", "--tokens", "64", "--seconds", "0.01"}},
      {"bench", {"bench", "attention", "--lengths", "16", "--tokens", "64", "--seconds", "0.01"}},
      {"bench", {"bench", "attention", "--lengths", "32", "--traffic", "--fast-numbers", "4096"}},
      {"bench", {"bench", "tokenize", "tiny.json", "--text", "held.txt", "--seconds", "0.01"}}};
  std::vector<std::string> files;
  std::string kinds;
  for (const auto& [kind, words] : commands) {
    std::vector<std::string> arguments = words;
    arguments.push_back("--json");
    files.push_back(cat("out-", files.size(), ".json"));
    place_.put(files.back(), place_.works(arguments).out);
    kinds += kind + "\n";
  }
  const ProgramResult checked = check(files);
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_EQ(checked.out, kinds);
}

TEST_F(OutputInterop, TheSchemaRefusesWhatLacksAFigure) {
  nlohmann::json model =
      nlohmann::json::parse(place_.works({"inspect", "model", "tiny.json", "--json"}).out);
  model.erase("parameters");
  place_.put("less.json", model.dump());
  EXPECT_NE(check({"less.json"}).code, 0);
}

}  // namespace
}  // namespace alibi
