#include "train/start_from.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "config/key_pattern.h"
#include "config/load.h"
#include "device/libtorch.h"
#include "model/position/positions.h"
#include "model/shapes.h"

namespace alibi {
namespace {

// Keys of the model in which the two may differ: its positional encoding, which keys are seen, and
// dropout.
bool may_differ(const std::string& pointer) {
  const std::string section = "/model/";
  if (pointer.ends_with("_dropout") || pointer.starts_with("/model/attention_pattern")) return true;
  if (!pointer.starts_with(section)) return false;
  return is_position_key(
      pointer.substr(section.size(), pointer.find('/', section.size()) - section.size()));
}

using Differences = std::vector<ConfigDifference>;

void refuse_another_model(const Differences& differences, const std::string& from) {
  for (const ConfigDifference& difference : differences) {
    if (!difference.pointer.starts_with("/model/") || may_differ(difference.pointer)) continue;
    throw usage_error(difference.pointer,
                      cat(difference.second, ", but \"", from, "\" has ",
                          difference.first == "(absent)" ? "its default" : difference.first),
                      "give the model the source's value, or train it from nothing");
  }
}

// Whether a method adds no matrix to a model, which would be drawn.
bool starts_constant(const PositionMethod& method, const ModelConfig& model) {
  if (method.parameters == nullptr) return true;
  return std::ranges::none_of(method.parameters(model), [](const ParameterShape& parameter) {
    return parameter.sizes.size() > 1;
  });
}

void refuse_positions(const ModelConfig& source, const ModelConfig& model,
                      const std::string& from) {
  if (source.position == model.position) return;
  const auto refuse = [&](const std::string& why) {
    throw usage_error(
        "/model/position",
        cat(name_of(model.position), ", but \"", from, "\" has ", name_of(source.position), ": ",
            why),
        cat("train it from nothing, or choose ", positions_where([](const PositionMethod& method) {
              return !method.scales_embeddings && method.parameters == nullptr;
            })));
  };
  const PositionMethod &from_method = position_method(source.position),
                       &to_method = position_method(model.position);
  if (from_method.scales_embeddings || to_method.scales_embeddings)
    refuse("sinusoidal positions scale the embeddings they are added to");
  if (!starts_constant(to_method, model))
    refuse("the new method's weights would have to be learnt from nothing");
}

// Where keys are hashed, one projection makes queries and keys.
void refuse_other_hashing(const ModelConfig& source, const ModelConfig& model,
                          const std::string& from) {
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    if (hashes_keys(source, layer) == hashes_keys(model, layer)) continue;
    const auto words = [&](const ModelConfig& m) {
      return hashes_keys(m, layer) ? "lsh" : "no lsh";
    };
    throw usage_error("/model/attention_pattern",
                      cat(words(model), " in layer ", layer, ", but \"", from, "\" has ",
                          words(source), " there: its queries have other weights"),
                      "give those layers the source's pattern, or train it from nothing");
  }
}

std::set<std::string> parameters_of(const ModelConfig& model) {
  std::set<std::string> names;
  for (const ParameterShape& parameter : parameter_shapes(model, 0)) names.insert(parameter.name);
  return names;
}

// "model.slope_bias_max 8 -> 16" for each key of one method that is another now.
std::string changed_keys(const Differences& differences) {
  std::vector<std::string> changes;
  for (const ConfigDifference& difference : differences) {
    if (may_differ(difference.pointer) && !difference.pointer.ends_with("_dropout"))
      changes.push_back(cat(difference.pointer, " ", difference.first, " -> ", difference.second));
  }
  return join(changes, ", ");
}

std::string describe_surgery(const ModelConfig& source, const ModelConfig& model,
                             const Differences& differences) {
  if (source.position == model.position) return changed_keys(differences);
  std::string text = cat("positions: ", name_of(source.position), " -> ", name_of(model.position));
  if (const auto limit = position_limit(source))
    text += cat("; the table of ", *limit, " positions is gone, and the limit of length with it");
  return text;
}

// Of parameters that both have.
void refuse_other_shapes(const ModelConfig& source, const ModelConfig& model,
                         const std::string& from) {
  std::map<std::string, std::vector<std::int64_t>> its;
  for (const ParameterShape& parameter : parameter_shapes(source, 0))
    its[parameter.name] = parameter.sizes;
  for (const ParameterShape& parameter : parameter_shapes(model, 0)) {
    const auto found = its.find(parameter.name);
    if (found == its.end() || found->second == parameter.sizes) continue;
    throw usage_error("/initialize/from",
                      cat("\"", from, "\" has ", parameter.name, " of ", shape_text(found->second),
                          ", this model of ", shape_text(parameter.sizes)),
                      "give the model the source's values, or train it from nothing");
  }
}

// What is scaled is scaled from the length that its weights knew before any scaling.
void refuse_other_length(const Config& source, const Config& config) {
  if (config.model.rotary_scaling == Stretch::kNone) return;
  const std::int64_t length =
      source.model.rotary_original_length.value_or(batch_shape(source.batch).length);
  if (config.model.rotary_original_length == length) return;
  throw usage_error(
      "/model/rotary_original_length",
      cat("found ", *config.model.rotary_original_length, ", but \"", config.initialize.from,
          "\" was trained on sequences of ", length, " before it was scaled"),
      cat("set it to ", length));
}

}  // namespace

void refuse_other_start(const Config& source, const Config& config) {
  const std::string& from = config.initialize.from;
  refuse_another_model(identity_differences(source, config), from);
  refuse_positions(source.model, config.model, from);
  refuse_other_hashing(source.model, config.model, from);
  refuse_other_shapes(source.model, config.model, from);
  refuse_other_length(source, config);
}

Start start_from(const Config& config, const Tokenizer& tokenizer) {
  const std::string& from = config.initialize.from;
  const auto folder = resolve_checkpoint(from);
  Checkpoint source = load_checkpoint(folder, Load::kWeights);
  if (source.tokenizer_model != tokenizer.model()) {
    const char* file = Tokenizer::file_name(source.tokenizer_model);
    throw usage_error("/initialize/from", cat("\"", from, "\" was trained with another tokenizer"),
                      source.tokenizer_model.empty()
                          ? std::string("set tokenizer.kind to bytes")
                          : cat("set tokenizer.file to ", (folder / file).string()));
  }
  const Config its = parse_config(source.config_json, (folder / "config.json").string());
  refuse_other_start(its, config);
  Start start{std::move(source.weights),
              describe_surgery(its.model, config.model, identity_differences(its, config))};
  const std::set<std::string> wanted = parameters_of(config.model);
  for (const std::string& name : parameters_of(its.model))
    if (!wanted.contains(name)) start.weights.erase(name);
  for (const auto& [name, value] : constant_position_parameters(config.model))
    if (!start.weights.contains(name)) start.weights[name] = value;
  return start;
}

}  // namespace alibi
