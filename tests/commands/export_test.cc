// alibi export through the program: what it writes, what it refuses, and that nothing half done
// stays. What other programs make of it: tests/interop/exports_test.cc.
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/strings.h"
#include "commands/cli_fixture.h"
#include "support/error_text.h"

namespace alibi {
namespace {

TEST(Export, WritesWhatItReadBackAndSaysHowFarItReaches) {
  const CliFixture place;
  place.works(
      {"train", "tiny.json", "--set", "tokenizer.kind=bpe", "--set", "tokenizer.vocabulary=300"});
  place.works({"evaluate", "runs/tiny", "--lengths", "1x,8x", "--output", "curve"});
  const ProgramResult result =
      place.works({"export", "runs/tiny", "--to", "hf", "--curve", "curve", "--output", "hf"});
  EXPECT_ERROR_AT(result.err, "read back", 0);
  EXPECT_EQ(
      everything_in(place.path("hf")),
      (std::vector<std::string>{"README.md", "config.json", "curve.svg", "generation_config.json",
                                "model.safetensors", "tokenizer.json", "tokenizer.model",
                                "tokenizer_config.json"}));
  const nlohmann::json config = place.json("hf/config.json");
  EXPECT_EQ(config["max_seq_len"], 128) << "the longest length of the curve";
  EXPECT_EQ(config["vocab_size"], 300);
  EXPECT_NE(place.read("hf/README.md").find("| 16 (trained) | "), std::string::npos);
  EXPECT_NE(place.read("hf/README.md").find("\n| 128 | "), std::string::npos);
  for (const std::string to : {"gguf", "safetensors"}) {
    const ProgramResult other = place.works({"export", "runs/tiny", "--to", to});
    EXPECT_NAMES(other.out,
                 "written:", to == "gguf" ? "exports/tiny-f32.gguf" : "exports/tiny.safetensors");
  }
  EXPECT_TRUE(place.has("exports/tiny-f32.gguf"));
  EXPECT_TRUE(place.has("exports/tiny.safetensors"));
  // A slash behind the name changes nothing. Seen failing: the target was looked for inside itself.
  for (const std::string to : {"hf", "gguf", "safetensors"})
    place.works({"export", "runs/tiny", "--to", to, "--output", "slash-" + to + "/"});
  EXPECT_TRUE(place.has("slash-hf/config.json"));
  EXPECT_TRUE(place.has("slash-gguf"));
}

// What vLLM's loader of MPT asserts and what it takes for granted; vLLM itself is not run here.
TEST(Export, MeetsTheConditionsOfVllmsLoader) {
  const CliFixture place;
  place.works({"train", "tiny.json"});
  place.works({"export", "runs/tiny", "--to", "hf", "--output", "hf"});
  const nlohmann::json config = place.json("hf/config.json");
  EXPECT_EQ(config["tie_word_embeddings"], true);
  EXPECT_EQ(config["norm_type"], "low_precision_layernorm");
  EXPECT_EQ(config["embedding_fraction"], 1.0);
  EXPECT_EQ(config["attn_config"]["alibi"], true);
  EXPECT_EQ(config["attn_config"]["prefix_lm"], false);
  EXPECT_EQ(config["layer_norm_epsilon"], 1e-5);
}

TEST(Export, RefusesInOneLineAndLeavesNothing) {
  const CliFixture place;
  place.works({"train", "tiny.json"});
  place.works({"train", "tiny.json", "--set", "run.name=rotary", "--set", "model.position=rotary"});
  place.works({"train", "tiny.json", "--set", "run.name=other", "--set", "run.seed=9"});
  place.works({"evaluate", "runs/other", "--output", "curve"});
  const auto before = everything_in(place.path());
  const auto refused = [&](std::vector<std::string> words, int code, const auto&... values) {
    words.insert(words.begin(), "export");
    const ProgramResult result = place.run(words);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_EQ(result.error_lines(), 1) << result.err;
    EXPECT_NAMES(result.err, values...);
    EXPECT_EQ(everything_in(place.path()), before) << result.err;
  };
  refused({"runs/rotary", "--to", "hf", "--output", "out"}, 2, "MPT", "model.position", "rotary");
  refused({"runs/rotary", "--to", "gguf", "--output", "out"}, 2, "model.position", "rotary");
  refused({"runs/rotary", "--to", "hf"}, 2, "--to hf --custom-code");
  refused({"runs/tiny", "--to", "gguf", "--type", "q8_0", "--output", "a/b/c"}, 2, "--type f16");
  refused({"runs/tiny", "--to", "hf", "--type", "q8_0", "--output", "out"}, 2,
          "--type:", "\"q8_0\"", "gguf");
  refused({"runs/tiny", "--to", "gguf", "--type", "q8_0", "--output", "out"}, 2, 32);
  refused({"runs/tiny", "--to", "hf", "--curve", "curve", "--output", "out"}, 1,
          "curve/curve.json:");
  refused({"runs/tiny", "--to", "hf", "--curve", "curve", "--output", "a/b/c"}, 1,
          "curve/curve.json:");
  refused({"runs/tiny", "--to", "hf", "--output", "runs"}, 2, "runs:");
  refused({"runs/tiny", "--to", "safetensors", "--output", "tiny.json/"}, 2, "tiny.json:");
  refused({"runs/tiny", "--to", "hf", "--set", "model.layers=2"}, 2, "--set model.layers=2:");
  refused({"runs/nowhere", "--to", "hf"}, 1, "runs/nowhere:");
  refused({"runs/tiny", "--to", "gguf", "--shard-size", "1GB"}, 2, "--shard-size:", "gguf");
  refused({"runs/tiny", "--to", "hf", "--shard-size", "big"}, 2, "--shard-size:", "\"big\"");
  refused({"runs/tiny", "--to", "safetensors", "--curve", "curve"}, 2, "--curve:", "safetensors");
}

// The card tells of the model as other programs will run it, and nobody else's lines are drawn in.
TEST(Export, TakesOnlyACurveOfTheModelAsItIs) {
  const CliFixture place;
  place.works({"train", "tiny.json"});
  place.works({"train", "tiny.json", "--set", "run.name=other", "--set", "run.seed=9"});
  const auto evaluate = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"evaluate", "runs/tiny"});
    place.works(words);
  };
  const auto exported = [&](const std::string& curve) {
    return place.run(
        {"export", "runs/tiny", "--to", "hf", "--curve", curve, "--output", curve + "-hf"});
  };
  evaluate({"--set", "evaluate.sinks=4", "--set", "evaluate.protocol=streaming", "--output", "s"});
  EXPECT_ERROR_AT(exported("s").err, "s/curve.json", 4);
  evaluate({"runs/other", "--output", "two"});
  EXPECT_EQ(exported("two").code, 0);
  EXPECT_FALSE(place.has("two-hf/curve.svg"));
  EXPECT_NAMES(place.read("two-hf/README.md"), "held.txt");
  EXPECT_NAMES(place.read("two-hf/README.md"), "fp32");
  nlohmann::json curve = place.json("two/curve.json");
  for (const nlohmann::json& length :
       std::vector<nlohmann::json>{-1, 3.7, 1LL << 33, "64", nullptr}) {
    nlohmann::json wrong = curve;
    wrong["curves"][0]["points"][0]["length"] = length;
    place.put("two/curve.json", wrong.dump());
    const ProgramResult result = place.run(
        {"export", "runs/tiny", "--to", "gguf", "--curve", "two", "--output", "out.gguf"});
    EXPECT_EQ(result.code, 1) << length;
    EXPECT_EQ(result.error_lines(), 1) << result.err;
    EXPECT_FALSE(place.has("out.gguf"));
  }
  curve["format_version"] = 99;
  place.put("two/curve.json", curve.dump());
  EXPECT_ERROR_AT(exported("two").err, "two-hf");
  place.put("s/curve.json", curve.dump());
  EXPECT_ERROR_AT(exported("s").err, "s/curve.json", "format_version", 99);
}

// A process that was killed leaves its half beside; the next export of that name takes it away, but
// not that of a process that lives.
TEST(Export, RemovesWhatADeadProcessLeft) {
  const CliFixture place;
  place.works({"train", "tiny.json"});
  const std::string dead = ".tmp-4194999-out", alive = cat(".tmp-", ::getpid(), "-out");
  for (const std::string& name : {dead, alive}) place.put(name, "half");
  place.works({"export", "runs/tiny", "--to", "hf", "--output", "out"});
  EXPECT_FALSE(place.has(dead));
  EXPECT_TRUE(place.has(alive));
}

// A full disk in the midst of it: no half folder, no half file. Seen failing with SIGXFSZ left to
// kill the program.
TEST(Export, OnAFullDiskLeavesNothing) {
  const CliFixture place;
  place.works({"train", "tiny.json"});
  ProgramOptions options = place.options();
  options.largest_file = 10'000;
  for (const std::string to : {"hf", "gguf", "safetensors"}) {
    const ProgramResult full =
        run_program({"export", "runs/tiny", "--to", to, "--output", "out"}, options);
    EXPECT_EQ(full.code, 1) << full.err;
    EXPECT_NAMES(full.err, std::strerror(EFBIG));
    EXPECT_FALSE(place.has("out"));
    for (const std::string& name : everything_in(place.path()))
      EXPECT_EQ(name.find(".tmp-"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace alibi
