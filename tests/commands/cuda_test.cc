// The program on a CUDA device against the same program on the CPU. Skipped where there is no
// device; scripts/gpu-check runs these where there is one.
#include <algorithm>
#include <sstream>

#include "base/strings.h"
#include "commands/cli_fixture.h"
#include "support/error_text.h"
#include "support/log_lines.h"

namespace alibi {
namespace {

class EndToEndCuda : public testing::Test {
 protected:
  void SetUp() override {
    // Once for all tests: a start on a device takes seconds.
    static const ProgramResult found =
        place_.run(command("probe", "cuda", {"run.train_tokens=256"}));
    if (found.code == 2 && has_word(found.err, "/runtime/device:")) GTEST_SKIP() << found.err;
    ASSERT_EQ(found.code, 0) << found.err;
  }

  static std::vector<std::string> command(const std::string& name, const std::string& device,
                                          const std::vector<std::string>& changes) {
    std::vector<std::string> words = {"train", "tiny.json",
                                      "--set", "run.folder=runs/" + name,
                                      "--set", "runtime.device=" + device};
    for (const std::string& change : changes) {
      words.push_back("--set");
      words.push_back(change);
    }
    return words;
  }

  std::vector<double> losses(const std::string& name) const {
    std::vector<double> all;
    std::istringstream lines(place_.read("runs/" + name + "/log.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const auto fields = nlohmann::json::parse(line);
      if (fields.contains("loss")) all.push_back(fields["loss"]);
    }
    return all;
  }

  void expect_near(const std::vector<double>& found, const std::vector<double>& expected,
                   double most) const {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], most) << "step " << i + 1;
  }

  double perplexity(const std::string& folder) const {
    return place_.json(folder + "/curve.json")["curves"][0]["points"][1]["perplexity"];
  }

  CliFixture place_;
};

// fp32 sums in other orders; bf16 rounds hidden states to 8 bits, and our kernels' weights too. On
// a CPU another kernel changes such losses by 5e-7, of bf16 by 7e-4, bf16 itself by 2.5e-3, and
// another position method by 4e-2.
TEST_F(EndToEndCuda, LossesAreThoseOfTheCpu) {
  place_.works(command("cpu", "cpu", {"runtime.precision=fp32"}));
  const std::vector<double> expected = losses("cpu");
  ASSERT_EQ(expected.size(), 20U);
  place_.works(command("fp32", "cuda", {"runtime.precision=fp32"}));
  expect_near(losses("fp32"), expected, 1e-3);
  place_.works(command("tf32", "cuda", {"runtime.precision=tf32"}));
  expect_near(losses("tf32"), expected, 1e-2);
  place_.works(command("bf16", "cuda", {"runtime.precision=bf16"}));
  expect_near(losses("bf16"), expected, 1e-2);
  for (const std::string kernel : {"cuda", "cudnn"}) {
    place_.works(
        command(kernel, "cuda", {"runtime.precision=bf16", "runtime.attention.kernel=" + kernel}));
    expect_near(losses(kernel), expected, 1e-2);
  }
}

TEST_F(EndToEndCuda, TheSameRunHasTheSameBits) {
  for (const char* name : {"one", "two"})
    place_.works(command(
        name, "cuda",
        {"runtime.precision=bf16", "runtime.attention.kernel=cuda", "model.residual_dropout=0.1"}));
  EXPECT_EQ(losses("one"), losses("two"));
  EXPECT_EQ(log_lines(place_.path("runs/one")), log_lines(place_.path("runs/two")));
}

TEST_F(EndToEndCuda, EveryFeatureHasTheLossesOfTheCpu) {
  const std::vector<std::vector<std::string>> all = {
      {"model.position=sinusoidal"},
      {"model.position=rotary"},
      {"model.position=t5", "runtime.precision=bf16"},
      {"model.position=learned", "model.max_sequence_length=64"},
      {"model.learned_slopes=true", "runtime.precision=bf16"},
      {"model.position=kerple", "runtime.precision=bf16"},
      {"model.position=sandwich", "runtime.precision=bf16"},
      {"model.position=forgetting", "runtime.precision=bf16"},
      {"model.attention_pattern=[\"window(40) + global(2)\"]", "batch.sequence_length=1024",
       "batch.sequences=1", "runtime.precision=bf16"},
      {"optimizer.kind=normuon"},
      {"optimizer.kind=mud"},
      {"model.residual_dropout=0.1", "runtime.recompute=blocks"},
      {"data.separate_documents=true", "batch.micro_batch_tokens=64"},
      {"runtime.attention.kernel=check"},
      {"model.key_value_heads=1", "runtime.precision=bf16", "runtime.attention.kernel=cuda"}};
  for (const std::vector<std::string>& changes : all) {
    const std::string name = cat("run-", &changes - all.data());
    SCOPED_TRACE(changes.front());
    std::vector<std::string> with = changes;
    const bool bf16 = std::ranges::count(changes, "runtime.precision=bf16") > 0;
    with.emplace_back("run.train_tokens=1280");
    std::vector<std::string> on_cpu = with;
    std::erase(on_cpu, "runtime.attention.kernel=cuda");
    place_.works(command(name, "cuda", with));
    place_.works(command(name + "-cpu", "cpu", on_cpu));
    expect_near(losses(name), losses(name + "-cpu"), bf16 ? 1e-2 : 1e-3);
  }
}

// Weights, moments and the data's place go from one to the other and back.
TEST_F(EndToEndCuda, CheckpointsMoveBetweenDevices) {
  const std::string constant = "schedule.kind=constant";
  place_.works(command("whole", "cpu", {constant}));
  for (const char* first : {"cuda", "cpu"}) {
    const std::string name = cat("from-", first);
    const std::string second = std::string(first) == "cpu" ? "cuda" : "cpu";
    place_.works(command(name, first, {constant, "run.train_tokens=2560"}));
    std::vector<std::string> rest = command(name, second, {constant});
    rest.emplace_back("--resume");
    place_.works(rest);
    expect_near(losses(name), losses("whole"), 1e-3);
  }
}

TEST_F(EndToEndCuda, CurvesAndTextsAreThoseOfTheCpu) {
  place_.works(command("run", "cuda", {}));
  for (const char* device : {"cpu", "cuda"}) {
    place_.works({"evaluate", "runs/run", "--set", cat("runtime.device=", device), "--output",
                  cat("curve-", device)});
    const ProgramResult text =
        place_.works({"generate", "runs/run", "--prompt", "kalo", "--set",
                      cat("runtime.device=", device), "--tokens", "20", "--temperature", "0"});
    place_.put(cat("text-", device), text.out);
  }
  EXPECT_NEAR(perplexity("curve-cuda") / perplexity("curve-cpu"), 1, 1e-4);
  EXPECT_EQ(place_.read("text-cuda"), place_.read("text-cpu"));
  place_.works({"export", "runs/run", "--to", "hf", "--output", "hf"});  // on the CPU, anywhere
  // Its pictures are made on the host, of a model's tensors on the device.
  place_.works(command("documents", "cuda", {"data.separate_documents=true"}));
  place_.works({"inspect", "attention", "runs/documents", "--set", "runtime.device=cuda", "--out",
                "attention.html"});
}

}  // namespace
}  // namespace alibi
