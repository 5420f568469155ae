// alibi evaluate's protocols and tasks, and the attention pages, through the real program.
#include <gtest/gtest.h>

#include <cmath>

#include "base/strings.h"
#include "commands/cli_fixture.h"
#include "support/error_text.h"

namespace alibi {
namespace {

// A tiny run, trained once for all tests of a process.
const CliFixture& trained() {
  static const CliFixture place;
  static const bool once = [] {
    place.works({"train", "tiny.json"});
    return true;
  }();
  (void)once;
  return place;
}

nlohmann::json curve_of(std::vector<std::string> more) {
  more.insert(more.begin(), {"evaluate", "runs/tiny", "--output", "curve", "--overwrite"});
  trained().works(more);
  return trained().json("curve/curve.json");
}

int figures_of(const std::string& page) {
  int count = 0;
  const std::string html = trained().read(page);
  for (std::size_t at = html.find("<svg"); at != html.npos; at = html.find("<svg", at + 1)) ++count;
  return count;
}

TEST(Evaluate, SplitsGainsAndNamesTheStride) {
  const auto json = curve_of({"--set", "evaluate.split_stride=4"});
  EXPECT_EQ(json["protocol"]["split_stride"], 4);
  const auto& points = json["curves"][0]["points"];
  for (const auto& point : points) {
    EXPECT_NEAR(point["early_gain"].get<double>() + point["context_gain"].get<double>(),
                points[0]["loss"].get<double>() - point["loss"].get<double>(), 1e-9);
  }
  const double gain = std::abs(points[2]["early_gain"].get<double>());
  EXPECT_NE(trained().read("curve/index.html").find(fixed(gain, 4)), std::string::npos) << gain;
}

TEST(Evaluate, MeasuresKeyTokensThatAnotherModelChose) {
  const std::vector<std::string> wanted = {"--set", "evaluate.key_tokens.evaluator=runs/tiny",
                                           "--set", "evaluate.key_tokens.short_length=4",
                                           "--set", "evaluate.key_tokens.least_gain=0",
                                           "--set", "evaluate.key_tokens.most_loss=100"};
  const auto json = curve_of(wanted);
  const auto& rule = json["key_tokens"];
  EXPECT_EQ(rule["short_length"], 4);
  EXPECT_EQ(rule["long_length"], 16) << "the evaluator's trained length";
  EXPECT_EQ(rule["evaluator_sha256"], json["curves"][0]["checkpoint_sha256"]);
  EXPECT_GT(rule["tokens"], 10);
  EXPECT_LT(rule["tokens"], json["text"]["tokens_scored"]) << "not all of them gain";
  const auto& points = json["curves"][0]["points"];
  for (const auto& point : points) {
    EXPECT_GT(point["key"]["loss"], 0);
    EXPECT_NEAR(
        point["key"]["change"].get<double>(),
        std::expm1(point["key"]["loss"].get<double>() - points[0]["key"]["loss"].get<double>()),
        1e-9);
  }
  EXPECT_NE(points[2]["key"]["loss"], points[2]["loss"]);
  const std::string perplexity = shown_perplexity(points[2]["key"]["loss"].get<double>());
  EXPECT_NAMES(trained().read("curve/index.html"), perplexity);
  std::vector<std::string> shown = {"evaluate", "runs/tiny"};
  shown.insert(shown.end(), wanted.begin(), wanted.end());
  const std::string out = trained().works(shown).out;
  EXPECT_NAMES(out, "key tokens:", rule["evaluator"].get<std::string>());
  EXPECT_NAMES(out, perplexity);
  // The tokens as a file are the same ones without the evaluator.
  const nlohmann::json list = trained().json("curve/key_tokens.json");
  EXPECT_EQ(list["positions"].size(), rule["tokens"].get<std::size_t>());
  const std::filesystem::path file = trained().path("chosen.json");
  std::filesystem::copy_file(trained().path("curve/key_tokens.json"), file,
                             std::filesystem::copy_options::overwrite_existing);
  const auto again = curve_of({"--set", "evaluate.key_tokens.evaluator=chosen.json"});
  EXPECT_EQ(again["key_tokens"], rule);
  EXPECT_EQ(again["curves"][0]["points"][2]["key"], points[2]["key"]);
}

TEST(Evaluate, RefusesKeyTokensOfAnotherTextOrADamagedList) {
  curve_of({"--set", "evaluate.key_tokens.evaluator=runs/tiny", "--set",
            "evaluate.key_tokens.least_gain=0", "--set", "evaluate.key_tokens.most_loss=100"});
  const nlohmann::json whole = trained().json("curve/key_tokens.json");
  const auto refused = [&](const nlohmann::json& list, const std::string& at, const auto& value) {
    trained().put("list.json", list.dump());
    const ProgramResult result = trained().run(
        {"evaluate", "runs/tiny", "--set", "evaluate.key_tokens.evaluator=list.json"});
    EXPECT_NE(result.code, 0) << at;
    EXPECT_ERROR_AT(result.err, "list.json: " + at, value);
  };
  nlohmann::json other = whole;
  other["text_sha256"] = std::string(64, '0');
  refused(other, "/text_sha256", std::string(64, '0'));
  other = whole;
  other["positions"].push_back(whole["targets"]);
  refused(other, "/positions", whole["targets"].get<std::int64_t>());
  other = whole;
  other["rule"]["tokens"] = whole["positions"].size() + 1;
  refused(other, "/rule/tokens", whole["positions"].size() + 1);
  other = whole;
  other["targets"] = whole["targets"].get<std::int64_t>() + 1;
  refused(other, "/targets", whole["targets"].get<std::int64_t>());
}

TEST(Evaluate, RefusesAnEvaluatorThatReadsOtherTokens) {
  trained().works({"train", "tiny.json", "--set", "run.name=bpe", "--set", "tokenizer.kind=bpe",
                   "--set", "tokenizer.vocabulary=300", "--set", "run.train_tokens=64"});
  const ProgramResult refused =
      trained().run({"evaluate", "runs/tiny", "--set", "evaluate.key_tokens.evaluator=runs/bpe"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_ERROR_AT(refused.err, "/evaluate/key_tokens/evaluator", "runs/bpe");
}

// A shell reads the line that a report shows as the words it was.
TEST(Evaluate, TheCommandLineIsQuoted) {
  trained().works(
      {"evaluate", "runs/tiny", "--output", "it's a curve", "--set", "evaluate.lengths=[\"1x\"]"});
  EXPECT_EQ(
      trained().json("it's a curve/curve.json")["command_line"],
      R"(alibi evaluate runs/tiny --output 'it'\''s a curve' --set 'evaluate.lengths=["1x"]')");
}

// Seen failing with every folder overwritten.
TEST(Evaluate, WhatAnotherCommandMeasuredIsNotLostUnasked) {
  const std::vector<std::string> first = {
      "evaluate", "runs/tiny", "--lengths", "1x,2x",
      "--output", "kept",      "--set",     "evaluate.task=perplexity"};
  std::vector<std::string> other = first, passkeys = first;
  other[3] = "1x";
  passkeys.back() = "evaluate.task=passkey";
  EXPECT_EQ(trained().works(first).err.find("kept/curve.json"), std::string::npos);
  const std::string created = trained().json("kept/curve.json")["created"];
  EXPECT_NAMES(trained().works(first).err, "replacing", "kept/curve.json", created);
  std::vector<std::string> shown = first;  // seen refused
  shown.insert(shown.end(), {"--json", "--progress", "json", "--join-timeout", "30"});
  EXPECT_NAMES(trained().works(shown).err, "replacing", "kept/curve.json");
  const std::string curve = trained().read("kept/curve.json");
  const ProgramResult refused = trained().run(other);
  EXPECT_EQ(refused.code, 2);
  EXPECT_ERROR_AT(refused.err, "kept/curve.json", "1x,2x", "--overwrite");
  EXPECT_EQ(trained().read("kept/curve.json"), curve);
  other.push_back("--overwrite");
  EXPECT_NAMES(trained().works(other).err, "replacing", "kept/curve.json");
  EXPECT_EQ(trained().json("kept/curve.json")["curves"][0]["points"].size(), 1U);
  passkeys.push_back("--overwrite");  // would leave both kinds in one folder
  EXPECT_EQ(trained().run(passkeys).code, 2);
  trained().put("kept/curve.json", "{");
  EXPECT_EQ(trained().run(first).code, 2);
  std::filesystem::remove(trained().path("kept/curve.json"));
  const ProgramResult theirs = trained().run(first);  // its page is somebody's
  EXPECT_EQ(theirs.code, 2);
  EXPECT_ERROR_AT(theirs.err, "kept/index.html", "--overwrite");
}

// Seen failing: the second command replaced what the first had measured.
TEST(Evaluate, WhatStandsInANameIsNoOption) {
  const auto named = [](const char* name) {
    return trained().run(
        {"evaluate", "runs/tiny", "--lengths", "1x", "--output", "named", "--name", name});
  };
  EXPECT_EQ(named("it's --json here").code, 0);
  EXPECT_EQ(named("it's here").code, 2);
  EXPECT_EQ(named("it's --json here").code, 0);
}

TEST(Evaluate, EveryReportSaysTheUsefulContext) {
  const ProgramResult result =
      trained().works({"evaluate", "runs/tiny", "--output", "curve", "--overwrite"});
  EXPECT_NAMES(result.out, "useful context:", 64);
  const auto json = trained().json("curve/curve.json");
  EXPECT_EQ(json["curves"][0]["far_context"]["window"], 64);
  EXPECT_GE(json["curves"][0]["far_context"]["bins"].size(), 6U);
  const int figures = figures_of("curve/index.html");
  const auto off = curve_of({"--set", "evaluate.far_context_tokens=0"});
  EXPECT_TRUE(off["curves"][0]["far_context"].is_null());
  EXPECT_EQ(figures_of("curve/index.html"), figures - 2);  // for a page and for a phone
}

TEST(Evaluate, OnePassAndStreamingAreProtocolsOfTheirOwn) {
  const auto one = curve_of({"--set", "evaluate.protocol=one_pass"});
  EXPECT_EQ(one["protocol"]["name"], "one_pass");
  const auto& points = one["curves"][0]["points"];
  EXPECT_EQ(points[0]["targets"].get<std::int64_t>() * 4, points[2]["targets"]);
  EXPECT_LE(points[0]["loss_joint_low"], points[0]["loss"]);
  const auto stream =
      curve_of({"--set", "evaluate.protocol=streaming", "--set", "evaluate.sinks=2"});
  EXPECT_EQ(stream["protocol"]["name"], "streaming");
  EXPECT_EQ(stream["protocol"]["sinks"], 2);
  EXPECT_NE(stream["protocol"]["sha256"], one["protocol"]["sha256"]);
  const ProgramResult refused =
      trained().run({"evaluate", "runs/tiny", "--set", "evaluate.protocol=streaming", "--set",
                     "evaluate.sinks=16"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_ERROR_AT(refused.err, "/evaluate/sinks", 16, 15);
}

// Seen failing with one name for both.
TEST(Evaluate, CheckpointsOfOneRunAreToldApart) {
  trained().works({"evaluate", "runs/tiny", "runs/tiny/checkpoints/step-00000015", "--output",
                   "two", "--lengths", "1x"});
  const auto curves = trained().json("two/curve.json")["curves"];
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_NE(curves[0]["name"], curves[1]["name"]);
  EXPECT_NAMES(curves[1]["name"].get<std::string>(), "tiny", "step-00000015");
}

// Seen failing with the names of their checkpoints, which are equal.
TEST(Evaluate, RunsOfOneNameAreToldApart) {
  const CliFixture place;
  place.works({"train", "tiny.json"});
  place.works({"train", "tiny.json", "--set", "run.seed=9", "--set", "run.folder=runs/other"});
  place.works({"evaluate", "runs/tiny", "runs/other", "--output", "two", "--lengths", "1x"});
  const auto curves = place.json("two/curve.json")["curves"];
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_NAMES(curves[0]["name"].get<std::string>(), "tiny", "runs/tiny");
  EXPECT_NAMES(curves[1]["name"].get<std::string>(), "tiny", "runs/other");
}

// Seen failing with the first run's text named for both.
TEST(Evaluate, RunsThatHoldOutOtherTextsAreNotAskedSideBySide) {
  const CliFixture place;
  place.works({"train", "tiny.json"});
  place.put("other.txt", small_text(40'000, 2));
  place.works(
      {"train", "tiny.json", "--set", "run.name=other", "--set", "data.valid=[\"other.txt\"]"});
  const ProgramResult result =
      place.run({"evaluate", "runs/tiny", "runs/other", "--lengths", "64,256", "--set",
                 "evaluate.task=passkey", "--set", "evaluate.answers.trials=1"});
  EXPECT_EQ(result.code, 2);
  EXPECT_ERROR_AT(result.err, "evaluate", "other", "--text");
}

// Seen failing: the same completions behind other prompts stood in one table.
TEST(Evaluate, RunsThatHoldOutOtherPromptsAreNotMeasuredSideBySide) {
  const CliFixture place;
  const auto lines = [](const char* prompt) {
    std::string text;
    for (int i = 0; i < 40; ++i)
      text +=
          cat(R"({"prompt": ")", prompt, i, R"(?", "completion": " the answer is )", i, "\"}\n");
    return text;
  };
  for (const char* name : {"a", "b"}) {
    place.put(cat(name, ".jsonl"), lines(name));
    place.works({"train", "tiny.json", "--set", cat("run.name=", name), "--set",
                 "run.train_tokens=512", "--set", cat("data.valid=[\"", name, ".jsonl\"]")});
  }
  const ProgramResult result = place.run({"evaluate", "runs/a", "runs/b", "--lengths", "1x"});
  EXPECT_EQ(result.code, 2);
  EXPECT_ERROR_AT(result.err, "evaluate", "b", "--text");
}

// Seen failing: what the shorter text holds out was trained on, and was called held out.
TEST(Evaluate, TextThatHasChangedSinceIsNoHeldOutText) {
  const CliFixture place;
  place.put("text.txt", small_text(60'000, 2));
  place.works({"train", "tiny.json", "--set", "data.valid=[]"});
  const std::vector<std::string> evaluate = {"evaluate", "runs/tiny", "--lengths", "1x"};
  place.works(evaluate);
  place.put("text.txt", small_text(60'000, 2).substr(0, 50'000));
  const ProgramResult changed = place.run(evaluate);
  EXPECT_EQ(changed.code, 1);
  EXPECT_ERROR_AT(changed.err, "text.txt", "--text");
  std::filesystem::remove(place.path("text.txt"));
  const ProgramResult gone = place.run(evaluate);
  EXPECT_EQ(gone.code, 2);
  EXPECT_ERROR_AT(gone.err, "/data/train", "text.txt", "--text");
}

TEST(Evaluate, PasskeysAreAskedByLengthAndDepth) {
  const ProgramResult result = trained().works(
      {"evaluate", "runs/tiny", "--lengths", "64,256", "--set", "evaluate.task=passkey", "--set",
       "evaluate.answers.trials=2", "--set", "evaluate.answers.depths=[0, 1]", "--output", "keys"});
  EXPECT_NAMES(result.out, 16, "too short");
  const auto json = trained().json("keys/answers.json");
  EXPECT_EQ(json["task"], "passkey");
  const auto& cells = json["results"][0]["cells"];
  ASSERT_EQ(cells.size(), 6U);  // 16, 64, 256 by two depths
  EXPECT_EQ(cells[5]["trials"], 2);
  const std::string texts = trained().read("keys/answers.jsonl");
  const auto first = nlohmann::json::parse(texts.substr(0, texts.find('\n')));
  EXPECT_TRUE(first["text"].get<std::string>().ends_with(first["answers"][0].get<std::string>()));
  EXPECT_TRUE(trained().has("keys/index.html"));
}

TEST(Evaluate, TasksThatTheProgramMakesAreAskedByLength) {
  const std::vector<std::string> recall = {"evaluate",  "runs/tiny",
                                           "--lengths", "64,256",
                                           "--set",     "evaluate.task=recall",
                                           "--set",     "evaluate.answers.trials=3",
                                           "--output",  "recall"};
  EXPECT_NAMES(trained().works(recall).out, "length", "pairs", "right", "loss");
  const auto json = trained().json("recall/answers.json");
  EXPECT_EQ(json["task"], "recall");
  const auto& cells = json["results"][0]["cells"];
  ASSERT_EQ(cells.size(), 3U);  // 16, 64, 256
  EXPECT_EQ(cells[2]["trials"], 3);
  EXPECT_EQ(cells[2]["answers"], 3 * cells[2]["size"].get<int>());
  EXPECT_TRUE(cells[2]["depth"].is_null());
  std::vector<std::string> with_text = recall;
  with_text.insert(with_text.end(), {"--text", "train.txt"});
  const ProgramResult refused = trained().run(with_text);
  EXPECT_EQ(refused.code, 2);
  EXPECT_ERROR_AT(refused.err, "--text", "recall");
}

TEST(Inspect, TheAttentionPageNeedsNothingFromElsewhere) {
  trained().works({"train", "tiny.json", "--set", "run.folder=runs/rotary", "--set",
                   "model.position=rotary", "--set", "run.train_tokens=1280"});
  for (const std::string run : {"tiny", "rotary"}) {
    const ProgramResult result = trained().works(
        {"inspect", "attention", "runs/" + run, "--lengths", "1x,2x", "--out", "page.html"});
    EXPECT_NAMES(result.out, "mean distance");
    EXPECT_NAMES(result.out, "page.html");
    const std::string html = trained().read("page.html");
    for (const char* outside : {"http://", "https://", "src=", "@import"})
      EXPECT_EQ(html.find(outside), std::string::npos) << outside;
    const std::size_t start = html.find("const data = ") + 13;
    const auto data = nlohmann::json::parse(html.substr(start, html.find(";\n", start) - start));
    EXPECT_EQ(data["tokens"].size(), 16U);
    EXPECT_EQ(data["layers"][0].size(), 2U);
    EXPECT_EQ(data["layers"][0][0]["scores"].size(), 16U * 17 / 2);
    // Sliders for slopes where there are slopes.
    EXPECT_EQ(data["curves"].empty(), run == "rotary");
    EXPECT_EQ(html.find("id=\"rule\"") == html.npos, run == "rotary");
  }
  EXPECT_NAMES(trained().works({"inspect", "lesson", "runs/tiny"}).out, "mean distance");
}

// Seen failing: taken, without effect.
TEST(Evaluate, RefusesSettingsOfTraining) {
  for (const char* set : {"runtime.recompute=blocks", "runtime.linear_layers=libtorch",
                          "runtime.memory_limit_bytes=1000"}) {
    const ProgramResult result =
        trained().run({"evaluate", "runs/tiny", "--lengths", "1x", "--set", set});
    EXPECT_EQ(result.code, 2);
    EXPECT_NAMES(result.err, std::string(set).substr(0, std::string(set).find('=')));
  }
}

// Seen failing with the figures of the trained length, whatever the lengths.
TEST(Inspect, NamesBlindHeadsAtTheLengthWhereTheyAre) {
  const CliFixture place;
  place.works(
      {"train", "tiny.json", "--set", "run.train_tokens=1280", "--set", "model.slopes=[1, 0.001]"});
  const std::string out =
      place.works({"inspect", "attention", "runs/tiny", "--lengths", "1x,512"}).out;
  EXPECT_NAMES(out, "note:", "bf16", "512", "1.1");
  const std::size_t blind = out.find("blind"), end = out.find('\n', blind);
  ASSERT_NE(blind, out.npos);
  EXPECT_FALSE(has_word(out.substr(blind, end - blind), "16")) << out;
}

// Seen failing with no table at all.
TEST(Inspect, SaysWhichLayersCountNoBlocks) {
  const CliFixture place;
  place.works({"train", "tiny.json", "--set", "run.train_tokens=1280", "--set", "model.layers=2",
               "--set", "model.attention_pattern=[\"layers 0: lsh(4, 6, 2)\"]"});
  const std::string out = place.works({"inspect", "attention", "runs/tiny", "--lengths", "1x"}).out;
  EXPECT_NE(out.find("    1     1    0.0625        -\n"), out.npos) << out;
  EXPECT_NE(out.find("    2     1    0.0625  100.0 %\n"), out.npos) << out;
  EXPECT_NAMES(out, "1 (lsh)");
}

// Seen failing where 4x was left out without a word, and where the command ended well with nothing.
TEST(Inspect, SaysWhichLengthsPositionsCannotReach) {
  const CliFixture place;
  place.works({"train", "tiny.json", "--set", "run.train_tokens=1280", "--set",
               "model.position=learned", "--set", "model.max_sequence_length=32"});
  const ProgramResult some =
      place.works({"inspect", "attention", "runs/tiny", "--lengths", "1x,4x"});
  EXPECT_NAMES(some.err, "note:", "--lengths", "4x", "learned", 32);
  EXPECT_NAMES(some.out, 16);
  const ProgramResult none =
      place.run({"inspect", "attention", "runs/tiny", "--lengths", "4x,128"});
  EXPECT_EQ(none.code, 2);
  EXPECT_ERROR_AT(none.err, "--lengths", "4x", 128, 32);
  EXPECT_EQ(none.out, "");
}

// Seen failing after all was measured.
TEST(Inspect, RefusesAPageThatCannotBeWrittenBeforeItMeasures) {
  const CliFixture place;
  place.works({"train", "tiny.json", "--set", "run.train_tokens=1280"});
  std::filesystem::create_symlink("elsewhere", place.path("link"));
  for (const char* name : {"missing/a.html", "runs", "link"}) {
    const ProgramResult result = place.run({"inspect", "attention", "runs/tiny", "--out", name});
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_ERROR_AT(result.err, "--out", name);
    EXPECT_EQ(result.err.find("measuring"), std::string::npos) << result.err;
    // Seen failing: a link such as /dev/stdout was replaced.
    EXPECT_ERROR_AT(place.run({"inspect", "bias", "--out", name}).err, "--out", name);
  }
  const ProgramResult wrong =
      place.run({"inspect", "attention", "runs/tiny", "--lengths", "1x,0x"});
  EXPECT_ERROR_AT(wrong.err, "--lengths", "\"0x\"", "4x");
}

TEST(Inspect, NotesSteepAndFlatHeads) {
  const CliFixture place;
  place.works(
      {"train", "tiny.json", "--set", "run.train_tokens=1280", "--set", "model.slopes=[4, 0.001]"});
  const std::string out = place.works({"inspect", "attention", "runs/tiny"}).out;
  EXPECT_NAMES(out, "note:", "90 %", 4, "1.1");
  EXPECT_NAMES(out, "note:", 16, "1.2");
}

}  // namespace
}  // namespace alibi
