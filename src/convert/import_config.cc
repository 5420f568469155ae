#include "convert/import_config.h"

#include <algorithm>

#include "base/json/parse.h"
#include "base/json/write.h"
#include "config/load.h"

namespace alibi {
namespace {

constexpr std::int64_t kUnsaidLength = 2048;
constexpr std::int64_t kLongestStart = 1024;  // of the config to train on with
// A tenth of what a model drawn anew is trained with: what it knows should survive the first steps.
constexpr double kLearningRate = 1e-4;

}  // namespace

Config imported_config(const ForeignModel& foreign, const Tokenizer& tokenizer,
                       const std::string& name, const std::filesystem::path& tokenizer_file) {
  Config config;
  config.model = foreign.model;
  config.tokenizer.kind = tokenizer.is_bytes() ? TokenizerKind::kBytes : TokenizerKind::kBpe;
  config.tokenizer.vocabulary = tokenizer.vocabulary();
  if (!tokenizer.is_bytes()) config.tokenizer.file = tokenizer_file.string();
  config.batch.sequence_length = foreign.trained > 0   ? foreign.trained
                                 : foreign.longest > 0 ? foreign.longest
                                                       : kUnsaidLength;
  config.run.name = name;
  return parse_config(config_json(config), "config.json");
}

std::string continuing_config(const Config& imported, const std::filesystem::path& folder,
                              bool surgery) {
  const Json whole = parse_json(config_json(imported), "config.json");
  Json model = *whole.find("model");
  if (surgery) {
    model["position"] = name_of(ModelConfig().position);
    model.erase("max_sequence_length");
  }
  const Json config = {
      {"$schema", "config.schema.json"},
      {"model", std::move(model)},
      {"batch", {{"sequence_length", std::min(imported.batch.sequence_length, kLongestStart)}}},
      {"tokenizer", *whole.find("tokenizer")},
      {"initialize", {{"from", folder.string()}}},
      {"optimizer", {{"learning_rate", kLearningRate}}},
      {"run", {{"name", imported.run.name + (surgery ? "-alibi" : "-on")}}}};
  return write_json(config, {.indent = 2}) + "\n";
}

}  // namespace alibi
