// What the config reader refuses and what it says; files, overrides, merging.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "base/files.h"
#include "base/strings.h"
#include "config/bad_configs.h"
#include "config/fields.h"
#include "config/lengths.h"
#include "config/load.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse_config(text, "x.json", overrides);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << text;
  return "";
}

TEST(BadConfigs, EachIsRefusedWithOneLinePerFault) {
  const std::vector<BadConfig> all = bad_configs();
  EXPECT_GE(all.size(), 60U);
  for (const BadConfig& bad : all) {
    const std::string message = refusal(bad.text);
    EXPECT_EQ(mismatch_of(bad, message, "x.json"), "") << bad.text << "\n" << message;
  }
}

TEST(BadConfigs, DeepNestingIsRefusedWithoutACrash) {
  EXPECT_NAMES(refusal(std::string(100'000, '[')), 32);
  EXPECT_NAMES(refusal(std::string(100'000, '[') + std::string(100'000, ']')), 32);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"model\":";
  EXPECT_NAMES(refusal(objects), 32);
}

TEST(BadConfigs, AMisspelledValueIsOfferedTheNearestOne) {
  const std::string message = refusal("{\"model\": {\"position\": \"rotray\"}}");
  EXPECT_NAMES(way_out_of(message), "\"rotary\"") << message;
}

TEST(BadConfigs, AQuotedValueIsCutShort) {
  const std::string message = refusal("{\"run\": {\"seed\": \"" + std::string(5000, 'a') + "\"}}");
  EXPECT_LT(message.size(), 200U);
}

TEST(LoadConfig, CommentsSchemaAndByteOrderMarkAreFine) {
  const Config config = parse_config(
      "\xef\xbb\xbf{ // a comment\n \"$schema\": \"x\", /* another */ \"run\": {\"seed\": 7} }",
      "x");
  EXPECT_EQ(config.run.seed, 7);
}

TEST(LoadConfig, FilesMergeLeftToRightThenOverrides) {
  const TemporaryFolder folder;
  const std::string a = (folder.path() / "a.json").string(),
                    b = (folder.path() / "b.json").string();
  write_file_atomic(a, "{\"model\": {\"heads\": 4, \"layers\": 3}, \"run\": {\"seed\": 1}}");
  write_file_atomic(b, "{\"model\": {\"heads\": 2}}");
  const Config config = load_config({a, b}, {"run.seed=9"});
  EXPECT_EQ(config.model.heads, 2);
  EXPECT_EQ(config.model.layers, 3);
  EXPECT_EQ(config.run.seed, 9);
  EXPECT_EQ(load_config({}, {}).model.layers, Config().model.layers);
}

TEST(LoadConfig, AWholeNumberIsReadInAnySpelling) {
  const Config config = load_config({}, {"run.train_tokens=1.5e6", "model.heads=4.0"});
  EXPECT_EQ(config.run.train_tokens, 1'500'000);
  EXPECT_EQ(config.model.heads, 4);
  EXPECT_NE(config_json(config).find("1500000"), std::string::npos);
  for (const char* wrong : {"1.5", "1e-3", "1e300", "true", "\"4\"", "9007199254740994.0"}) {
    const std::string set = cat("run.seed=", wrong);
    EXPECT_ERROR_AT(error_text([&] { load_config({}, {set}); }), cat("--set ", set, ": /run/seed"));
  }
}

TEST(LoadConfig, FaultsOfAllSourcesNameTheirSource) {
  const TemporaryFolder folder;
  const std::string a = (folder.path() / "a.json").string(),
                    b = (folder.path() / "b.json").string();
  write_file_atomic(a, "{\"model\": {\"heads\": 4.5}}");
  write_file_atomic(b, "{\"modle\": {}}");
  const std::string missing = (folder.path() / "missing.json").string();
  try {
    load_config({a, b, missing, folder.path().string()}, {"run.sed=9"});
    FAIL();
  } catch (const Error& error) {
    const std::vector<std::string> lines = split(error.what(), '\n');
    ASSERT_EQ(lines.size(), 5U) << error.what();
    EXPECT_ERROR_AT(lines[0], a + ": /model/heads");
    EXPECT_ERROR_AT(lines[1], b + ": /modle");
    EXPECT_ERROR_AT(lines[2], missing, std::strerror(ENOENT));
    EXPECT_ERROR_AT(lines[3], folder.path().string(), "config.json");
    EXPECT_ERROR_AT(lines[4], "--set run.sed=9: /run/sed");
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
  }
}

// What a missing file holds may be what makes the other one right.
TEST(LoadConfig, YamlOfOtherTrainersIsTakenForNoJson) {
  EXPECT_ERROR_AT(error_text([] { parse_config("max_seq_len: 2048\n", "mpt.yaml"); }), "mpt.yaml",
                  "JSON", "configs/NAMES.md");
}

TEST(LoadConfig, KeysAreNotJudgedTogetherWithoutAllSources) {
  const TemporaryFolder folder;
  const std::string a = (folder.path() / "a.json").string();
  write_file_atomic(a, "{\"model\": {\"heads\": 7}, \"schedule\": {\"decay_tokens\": 9}}");
  const std::string missing = (folder.path() / "missing.json").string();
  EXPECT_ERROR_AT(error_text([&] { load_config({a, missing}, {}); }), missing);
}

TEST(LoadConfig, ARuleNamesTheSourceThatSetTheKey) {
  EXPECT_ERROR_AT(refusal("{\"model\": {\"heads\": 8}}", {"model.heads=7"}),
                  "--set model.heads=7: /model/heads");
  EXPECT_ERROR_AT(refusal("{\"model\": {\"heads\": 7}}"), "x.json: /model/heads");
  EXPECT_ERROR_AT(refusal("{}", {"evaluate.lengths=[\"0x\"]"}),
                  "--set evaluate.lengths=[\"0x\"]: /evaluate/lengths/0");
}

// A key of an earlier version is read as the key it is called now, with a note that names both; a
// run's own config.json is read without one. Seen failing with the note left out, and with the old
// name unknown.
// Seen failing while every passkey was refused there.
TEST(LoadConfig, APasskeyInOneDocumentIsAskedWhereDocumentsAreSeparate) {
  EXPECT_NO_THROW(
      parse_config("{}", "x", {"data.separate_documents=true", "evaluate.task=passkey"}));
}

TEST(RenamedKeys, AreReadWithANote) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "old.json").string();
  const std::string text = R"({"guard": {"non_finite": "skip", "most_skips": 7}})";
  write_file_atomic(file, text);
  testing::internal::CaptureStderr();
  EXPECT_EQ(load_config({file}, {}).guard.max_consecutive_skips, 7);
  EXPECT_NAMES(testing::internal::GetCapturedStderr(), file, "guard.most_skips",
               "guard.max_consecutive_skips");
  testing::internal::CaptureStderr();
  EXPECT_EQ(parse_config(text, "config.json").guard.max_consecutive_skips, 7);
  EXPECT_EQ(load_config({file}, {}).guard.max_consecutive_skips, 7);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "stored, or said before";
  EXPECT_ERROR_AT(refusal(R"({"guard": {"most_skips": 7, "max_consecutive_skips": 8}})"),
                  "x.json: /guard/most_skips", "max_consecutive_skips");
  EXPECT_ERROR_AT(refusal(R"({"guard": {"most_skips": 0.5}})"),
                  "x.json: /guard/max_consecutive_skips", "0.5");
}

TEST(RenamedKeys, EachHasAKeyAndTakesNoOthersName) {
  Config defaults;
  std::set<std::string> keys;
  for (const Section& section : sections(defaults))
    for (const Field& field : section.fields) keys.insert(cat(section.path, ".", field.name));
  for (const Section& section : sections(defaults)) keys.insert(section.path);
  for (const RenamedKey& one : renamed_keys()) {
    EXPECT_TRUE(keys.contains(cat(one.section, ".", one.now))) << one.now;
    EXPECT_FALSE(keys.contains(cat(one.section, ".", one.before))) << one.before;
  }
}

Config set(const std::vector<std::string>& overrides) { return load_config({}, overrides); }

TEST(Overrides, TakeJsonElseAString) {
  const Config config =
      set({"model.heads=4", "run.name=plain words", "run.folder=\"quoted\"",
           "data.train=[\"a.txt\", \"b\"]", "model.tied_head=false", "optimizer.learning_rate=1e-4",
           "runtime.attention.kernel=check", "model={\"layers\": 2}", "evaluate.lengths=[\"1x\"]"});
  EXPECT_EQ(config.model.heads, 4);
  EXPECT_EQ(config.run.name, "plain words");
  EXPECT_EQ(config.run.folder, "quoted");
  EXPECT_EQ(config.data.train, (std::vector<std::string>{"a.txt", "b"}));
  EXPECT_FALSE(config.model.tied_head);
  EXPECT_EQ(config.optimizer.learning_rate, 1e-4);
  EXPECT_EQ(config.runtime.attention.kernel, "check");
  EXPECT_EQ(config.model.layers, 2);
  EXPECT_EQ(set({"run.folder=a=b"}).run.folder, "a=b");
  EXPECT_EQ(set({"run.seed=1", "run.seed=2"}).run.seed, 2);
}

TEST(Overrides, AreRefusedWhenTheyAreNone) {
  for (const char* text :
       {"heads", "", "=4", "model.heads", "model=4", "model.heads.x=4", ".=1", "model..heads=4",
        "model.=4", "heads=4", "model.heads=four", "run.name=\xff", "run.name=5"}) {
    const std::string message = error_text([&] { set({text}); });
    EXPECT_EQ(message.find("--set "), 0U) << text << " gave: " << message;
  }
}

// A run stored how it was to be measured; another way of measuring it is no fault.
TEST(Overrides, LeaveStoredEvaluationKeysWithoutEffectBehind) {
  const std::string stored =
      R"({"evaluate": {"protocol": "sliding", "stride": 8, "stretch": "ntk", "stretch_factor": 4}})";
  const Config plain =
      parse_config(stored, "x", {"evaluate.protocol=non_overlapping", "evaluate.stretch=none"});
  EXPECT_FALSE(plain.evaluate.stride.has_value());
  EXPECT_FALSE(plain.evaluate.stretch_factor.has_value());
  EXPECT_EQ(parse_config(stored, "x", {"evaluate.stretch=linear"}).evaluate.stretch_factor, 4);
  EXPECT_EQ(parse_config(stored, "x", {"evaluate.task=passkey"}).evaluate.protocol,
            Protocol::kNonOverlapping);
  EXPECT_ANY_THROW(
      parse_config(stored, "x", {"evaluate.stretch=none", "evaluate.stretch_factor=2"}))
      << "given by hand";
}

TEST(Overrides, TakeSectionsByTheirEarlierNames) {
  const std::string stored = R"({"evaluate": {"task": "passkey", "passkey": {"trials": 7}}})";
  EXPECT_EQ(parse_config(stored, "x", {}).evaluate.answers.trials, 7);
  EXPECT_EQ(parse_config(stored, "x", {"evaluate.passkey.trials=8"}).evaluate.answers.trials, 8);
  EXPECT_EQ(parse_config(stored, "x", {"evaluate.answers.trials=9"}).evaluate.answers.trials, 9);
}

TEST(Overrides, NullTakesAnEarlierValueBack) {
  const std::string learned =
      "{\"model\": {\"position\": \"learned\", \"max_sequence_length\": 2048}}";
  EXPECT_NAMES(refusal(learned, {"model.position=alibi"}), "/model/max_sequence_length");
  const Config config =
      parse_config(learned, "x", {"model.position=alibi", "model.max_sequence_length=null"});
  EXPECT_FALSE(config.model.max_sequence_length.has_value());
}

// As the message on a key without effect advises. Seen failing: null was no value of an enum.
TEST(Overrides, NullIsTheDefaultOfAnyKey) {
  const Config config = set({"model.position=none", "model.slope_rule=equal", "model.heads=4",
                             "model.slope_rule=null", "model.heads=null"});
  EXPECT_EQ(config.model.slope_rule, SlopeRule::kPress);
  EXPECT_EQ(config.model.heads, Config().model.heads);
}

TEST(Overrides, OfWrongJsonSayWhatIsWrong) {
  EXPECT_NAMES(error_text([] { set({R"(model={"heads":4,"heads":2})"}); }), "--set", "duplicate");
}

// Seen failing: 1.1 times 100 is not quite 110.
TEST(Lengths, WholeMultiplesAreTaken) {
  EXPECT_EQ(length_in_tokens("1.1x", 100), 110);
  EXPECT_EQ(length_in_tokens("2.3x", 100), 230);
  EXPECT_EQ(length_in_tokens("1.125x", 64), 72);
  EXPECT_FALSE(length_in_tokens("1.1x", 64));
  EXPECT_FALSE(length_in_tokens("110.0", 100));
}

TEST(Overrides, NameAKeyInEitherForm) {
  EXPECT_TRUE(names_key({"run.seed=1", "runtime.device=cpu"}, "runtime.device"));
  EXPECT_TRUE(names_key({R"(runtime={"device": "cpu"})"}, "runtime.device"));
  EXPECT_TRUE(names_key({R"(runtime={"attention": {"kernel": "x"}})"}, "runtime.attention.kernel"));
  EXPECT_FALSE(names_key({R"(runtime={"threads": 2})", "runtime"}, "runtime.device"));
  EXPECT_FALSE(names_key({"runtime.attention=1"}, "runtime.attention.kernel"));
  EXPECT_TRUE(names_key({R"(runtime={"device": "cpu" /* here */})"}, "runtime.device"));
  std::string deep = "runtime=";
  for (int i = 0; i < 20'000; ++i) deep += R"({"a":)";
  EXPECT_FALSE(names_key({deep + "1" + std::string(20'000, '}')}, "runtime.device"));
}

// Seen accepting the object form of any key beside the allowed one.
TEST(Overrides, OfKeysThatHaveNoEffectAreRefusedInEitherForm) {
  const auto allowed = [](const std::string& change) {
    allow_overrides({change}, {"runtime.threads", "evaluate"}, "given reason");
  };
  EXPECT_NO_THROW(allowed("runtime.threads=2"));
  EXPECT_NO_THROW(allowed(R"(runtime={"threads": 2})"));
  EXPECT_NO_THROW(allowed(R"(evaluate={"answers": {"trials": 2}})"));
  for (const char* change : {"runtime.precision=bf16", R"(runtime={"precision": "bf16"})",
                             R"(runtime={"threads": 2, "device": "cpu"})", "model.heads=2"})
    EXPECT_ERROR_AT(error_text([&] { allowed(change); }), cat("--set ", change), "given reason");
}

}  // namespace
}  // namespace alibi
