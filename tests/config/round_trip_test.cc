// What a run stores reads back as the same run; every shipped config loads; the rules that pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "config/fields.h"
#include "config/load.h"
#include "config/validate.h"
#include "support/error_text.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;

Config set(const std::vector<std::string>& overrides) { return load_config({}, overrides); }

void expect_round_trip(const Config& config) {
  const std::string text = config_json(config);
  const Config again = parse_config(text, "stored");
  EXPECT_EQ(config_json(again), text);
  EXPECT_EQ(identity_json(again), identity_json(config));
  EXPECT_TRUE(identity_differences(again, config).empty());
}

TEST(RoundTrip, EveryPositionTokenizerAndSchedule) {
  for (const char* position : {"alibi", "sinusoidal", "learned", "rotary", "t5", "kerple", "bam",
                               "sandwich", "forgetting", "position_infused", "fire", "none"}) {
    for (const char* tokenizer :
         {"tokenizer.kind=bpe", "tokenizer.kind=bytes", "tokenizer.file=some.model"}) {
      for (const char* schedule : {"cosine", "linear", "constant", "wsd"}) {
        expect_round_trip(set({cat("model.position=", position), tokenizer,
                               cat("schedule.kind=", schedule), "schedule.warmup_tokens=1000000"}));
      }
    }
  }
}

TEST(RoundTrip, ConditionalKeys) {
  expect_round_trip(set({"model.heads=3", "model.width=96", "model.slopes=[0.1, 0.2, 1e-30]"}));
  expect_round_trip(set({"data.valid=[\"v.txt\"]", "evaluate.protocol=sliding"}));
  expect_round_trip(
      set({"initialize.from=runs/a", "evaluate.protocol=sliding", "evaluate.stride=3"}));
  expect_round_trip(set({"optimizer.learning_rate=0.1", "optimizer.epsilon=1.0000000000000002e-8",
                         "run.seed=9000000000000000", "run.name=\"Fran\xc3\xa7ois \\\"x\\\"\""}));
}

// Values to try for a field, as JSON, without knowing what it means.
std::vector<std::string> candidates(const Field& field) {
  if (const auto* choice = std::get_if<EnumTarget>(&field.target)) {
    std::vector<std::string> names;
    for (const std::string& name : choice->names) names.push_back("\"" + name + "\"");
    return names;
  }
  if (std::holds_alternative<bool*>(field.target)) return {"true", "false"};
  if (std::holds_alternative<std::string*>(field.target)) return {"\"other\""};
  if (std::holds_alternative<std::vector<std::string>*>(field.target))
    return {"[\"3x\"]", "[\"window(3)\"]"};
  if (std::holds_alternative<std::vector<double>*>(field.target))
    return {"[0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]", "[0.5, 1]"};
  if (std::holds_alternative<double*>(field.target) ||
      std::holds_alternative<std::optional<double>*>(field.target))
    return {"0.25", "0.125", "1.5", "0.0625"};
  return {"2", "4", "512", "1024", "2048", "100000"};
}

// Each key, one at a time: it reaches its own target, is stored, read back, and counts for the
// identity exactly when it is no free one.
TEST(RoundTrip, EveryKeyByItself) {
  // Given, the first two take the effect of other keys away; so they are changed from one value to
  // another. run.train_seconds would leave run.train_tokens open.
  const std::vector<std::vector<std::string>> bases = {
      {"data.valid=[\"v\"]", "tokenizer.file=t", "run.train_tokens=2000000"},
      {},
      {"model.position=learned"},
      {"model.position=rotary"},
      {"model.position=rotary", "model.rotary_scaling=yarn", "model.rotary_original_length=1000",
       "batch.sequence_length=1024"},
      {"model.position=t5"},
      {"model.position=kerple"},
      {"model.position=sandwich"},
      {"model.position=fire"},
      {"optimizer.kind=muon"},
      {"schedule.kind=wsd"},
      {"evaluate.protocol=sliding"},
      {"evaluate.protocol=streaming"},
      {"evaluate.task=passkey"},
      {"evaluate.task=flip_flop"},
      {"evaluate.task=recall"},
      {"evaluate.key_tokens.evaluator=runs/a"},
      {"model.slope_rule=exponential"},
      {"evaluate.stretch=ntk"},
      {"guard.spikes=roll_back"},
      {"guard.spikes=skip"}};
  std::set<std::string> seen, all;
  for (const std::vector<std::string>& base_overrides : bases) {
    const Config base = set(base_overrides);
    Config copy = base;
    for (const Section& section : sections(copy)) {
      for (const Field& field : section.fields) {
        const std::string path = section.path + "." + field.name;
        all.insert(path);
        if (!field.effective || seen.contains(path)) continue;
        for (const std::string& value : candidates(field)) {
          std::vector<std::string> overrides = base_overrides;
          overrides.push_back(path + "=" + value);
          Config changed;
          try {
            changed = set(overrides);
          } catch (const Error&) {
            continue;
          }
          if (config_json(changed) == config_json(base)) continue;
          seen.insert(path);
          expect_round_trip(changed);
          const auto differences = identity_differences(base, changed);
          const std::string pointer = section.pointer(field);
          const bool listed = std::any_of(differences.begin(), differences.end(),
                                          [&](const ConfigDifference& difference) {
                                            return difference.pointer.starts_with(pointer) &&
                                                   difference.first != difference.second;
                                          });
          EXPECT_EQ(listed, field.identity) << pointer;
          EXPECT_TRUE(field.identity || differences.empty()) << pointer;
          break;
        }
      }
    }
  }
  all.erase("model.causal");
  for (const std::string& path : all) EXPECT_TRUE(seen.contains(path)) << path << " was not tried";
}

TEST(Fields, NoTwoKeysShareATarget) {
  Config config;
  std::set<const void*> targets;
  std::set<std::string> pointers;
  for (const Section& section : sections(config)) {
    for (const Field& field : section.fields) {
      EXPECT_TRUE(pointers.insert(section.pointer(field)).second) << field.name;
      std::visit(
          [&](const auto& target) {
            if constexpr (std::is_pointer_v<std::decay_t<decltype(target)>>) {
              EXPECT_TRUE(targets.insert(target).second) << field.name;
            }
          },
          field.target);
    }
  }
}

// Every config and comparison names the schema by which editors complete its keys.
void expect_schema(const fs::path& file) {
  const auto json = nlohmann::json::parse(read_file(file), nullptr, true, true);
  const std::string kind = json.contains("variants") ? "comparison" : "config";
  const fs::path named = file.parent_path() / json.value("$schema", "none");
  EXPECT_EQ(named.filename(), kind + ".schema.json") << file;
  EXPECT_EQ(read_file(named), kind == "config" ? config_schema() : comparison_schema())
      << "run: alibi inspect schema > configs/config.schema.json; with --comparison into "
         "configs/comparison.schema.json";
}

TEST(ShippedConfigs, NameTheirSchema) {
  int count = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(ALIBI_SOURCE_DIR) / "configs")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".json") || name.ends_with(".schema.json")) continue;
    expect_schema(entry.path());
    ++count;
  }
  EXPECT_GE(count, 33);
}

void expect_shipped(const fs::path& file) {
  try {
    expect_round_trip(load_config({file.string()}, {}));
  } catch (const std::exception& error) {
    ADD_FAILURE() << file << ": " << error.what();
  }
}

TEST(ShippedConfigs, AllLoad) {
  int count = 0;
  const fs::path configs = fs::path(ALIBI_SOURCE_DIR) / "configs";
  for (const fs::path& folder : {configs, configs / "models"}) {  // comparisons lie deeper
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".json") || name.ends_with(".schema.json")) continue;
      ++count;
      expect_shipped(entry.path());
    }
  }
  EXPECT_GE(count, 9);
  for (const char* name : {"quickstart.json", "books.json"})
    EXPECT_FALSE(load_config({(configs / name).string()}, {}).data.train.empty()) << name;
}

TEST(Scaling, KeepsTheTokensOfAStep) {
  for (const double s : {1.0, 0.5, 0.25, 0.125}) {
    const Config config = set({"batch.sequence_length=512", "batch.sequences=6",
                               cat("batch.train_sequence_length_scaling=", s)});
    const BatchShape shape = batch_shape(config.batch);
    EXPECT_EQ(shape.length, static_cast<std::int64_t>(512 * s));
    EXPECT_EQ(shape.rows, static_cast<std::int64_t>(6 / s));
    EXPECT_EQ(shape.tokens(), 512 * 6);
    EXPECT_EQ(*config.batch.micro_batch_tokens, 512 * 6);
  }
  EXPECT_EQ(batch_shape(set({"batch.train_sequence_length_scaling=1"}).batch).length, 512);
  EXPECT_EQ(*set({"batch.micro_batch_tokens=1024"}).batch.micro_batch_tokens, 1024);
}

TEST(Resolve, FillsWhatFollowsFromOtherKeys) {
  const Config config = set({"model.width=64", "model.heads=4", "schedule.kind=wsd",
                             "run.train_tokens=1000", "run.name=x"});
  EXPECT_EQ(*config.model.key_value_heads, 4);
  EXPECT_EQ(*config.model.mlp_width, 256);
  EXPECT_EQ(*config.model.attention_scale, 0.25);
  EXPECT_EQ(*config.run.save_every_tokens, 100);
  EXPECT_EQ(*config.schedule.decay_tokens, 200);
  EXPECT_EQ(config.run.folder, "runs/x");
  EXPECT_FALSE(config.model.max_sequence_length.has_value());
  const Config learned = set({"model.position=learned", "batch.train_sequence_length_scaling=0.5"});
  EXPECT_EQ(*learned.model.max_sequence_length, 256);
}

std::string notes(const std::vector<std::string>& overrides) {
  std::string text;
  for (const std::string& note : advice(set(overrides))) text += note + "\n";
  return text;
}

TEST(Advice, AtTheLengthsTheSourceNames) {
  const auto at = [](int length) { return notes({cat("batch.sequence_length=", length)}); };
  EXPECT_NAMES(at(128), 128);
  EXPECT_NAMES(at(129), 129, 256);
  EXPECT_NAMES(at(256), 256);
  EXPECT_EQ(at(257), "");
  EXPECT_NAMES(
      notes({"batch.sequence_length=16384", "batch.train_sequence_length_scaling=0.03125"}), 32,
      512);
  EXPECT_EQ(notes({"batch.sequence_length=64", "model.position=none"}), "");
}

// Seen failing: without the note Muon trained at AdamW's default, a tenth of what it takes.
TEST(Advice, RateOfMatrices) {
  const std::string kind = "optimizer.kind=normuon", none = "model.position=none";
  EXPECT_NAMES(notes({kind, none, "optimizer.learning_rate=0.002"}),
               "optimizer.matrix_learning_rate", 0.002);
  EXPECT_EQ(notes({kind, none, "optimizer.matrix_learning_rate=0.01"}), "");
  EXPECT_EQ(notes({none}), "");
}

TEST(Advice, SteepSlopes) {
  EXPECT_NAMES(notes({"model.heads=2", "model.slopes=[0.5, 1]"}), "model.slopes", 1);
  EXPECT_EQ(notes({"model.heads=2", "model.slopes=[0.5, 0.99]"}), "");
}

}  // namespace
}  // namespace alibi
