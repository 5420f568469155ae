// The schema and the reference page list what the reader takes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "base/files.h"
#include "base/strings.h"
#include "config/fields.h"
#include "config/load.h"

namespace alibi {
namespace {

using nlohmann::ordered_json;

TEST(Schema, NamesEveryKeyWithTypeMeaningAndNames) {
  const ordered_json schema = ordered_json::parse(config_schema());
  EXPECT_FALSE(schema["additionalProperties"].get<bool>());
  Config defaults;
  for (const Section& section : sections(defaults)) {
    for (const Field& field : section.fields) {
      std::string place;
      for (const char c : "/" + section.path + "/" + field.name)
        place += c == '/' || c == '.' ? std::string("/properties/") : std::string(1, c);
      const ordered_json::json_pointer pointer(place);
      ASSERT_TRUE(schema.contains(pointer)) << place;
      EXPECT_TRUE(schema[pointer].contains("type")) << place;
      EXPECT_FALSE(schema[pointer]["description"].get<std::string>().empty()) << place;
      if (const auto* choice = std::get_if<EnumTarget>(&field.target)) {
        EXPECT_EQ(schema[pointer]["enum"].get<std::vector<std::string>>(), choice->names) << place;
      }
    }
  }
}

// Draft 2020-12 as far as this schema uses it: types, ranges, enum, items, closed objects.
bool fits(const ordered_json& value, const ordered_json& schema) {
  const auto is = [&](const std::string& type) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
           (type == "integer" && value.is_number_integer()) ||
           (type == "number" && value.is_number()) || (type == "null" && value.is_null());
  };
  bool typed = false;
  for (const auto& type :
       schema["type"].is_array() ? schema["type"] : ordered_json::array({schema["type"]}))
    typed = typed || is(type.get<std::string>());
  if (!typed) return false;
  if (schema.contains("enum") &&
      std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
    return false;
  if (value.is_number() && schema.contains("minimum") && value < schema["minimum"]) return false;
  if (value.is_number() && schema.contains("maximum") && value > schema["maximum"]) return false;
  if (!value.is_object()) return true;
  for (const auto& [key, child] : value.items()) {
    if (!schema["properties"].contains(key) || !fits(child, schema["properties"][key]))
      return false;
  }
  return true;
}

TEST(Schema, TakesResolvedConfigsAndRefusesWrongOnes) {
  const ordered_json schema = ordered_json::parse(config_schema());
  for (const char* position : {"alibi", "learned", "t5", "rotary"}) {
    const Config config = load_config({}, {std::string("model.position=") + position});
    EXPECT_TRUE(fits(ordered_json::parse(config_json(config)), schema)) << position;
  }
  for (const char* text : {"{\"model\": {\"heads\": 1.5}}", "{\"model\": {\"head\": 1}}",
                           "{\"model\": {\"position\": \"x\"}}", "{\"model\": {\"heads\": 0}}",
                           "{\"batch\": {\"train_sequence_length_scaling\": 2}}",
                           "{\"batch\": {\"train_sequence_length_scaling\": 0.3}}"}) {
    EXPECT_FALSE(fits(ordered_json::parse(text), schema)) << text;
  }
}

TEST(Schema, TheScalingIsOneOrAHalfAgainAndAgain) {
  const ordered_json schema = ordered_json::parse(config_schema());
  for (const char* scaling : {"1", "0.5", "0.125"}) {
    EXPECT_TRUE(
        fits(ordered_json::parse(std::string("{\"batch\": {\"train_sequence_length_scaling\": ") +
                                 scaling + "}}"),
             schema));
  }
  EXPECT_NE(config_reference().find("| number: 1, 1/2, 1/4, 1/8, ... |"), std::string::npos);
}

TEST(Reference, TheCommittedPageIsWhatTheProgramPrints) {
  EXPECT_EQ(read_file(std::string(ALIBI_SOURCE_DIR) + "/configs/README.md"), config_reference())
      << "run: alibi inspect schema --markdown > configs/README.md";
}

TEST(Reference, ATableCellHoldsNoBarOfItsOwn) {
  const std::string page = config_reference();
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t end = page.find('\n', at);
    const std::string line = page.substr(at, end - at);
    const auto bars = std::count(line.begin(), line.end(), '|');
    EXPECT_EQ(bars, line.starts_with("|") ? 5 : 0) << line;
    at = end + 1;
  }
}

// configs/NAMES.md, which no compiler reads: what it calls a key is one. Seen failing with a key
// renamed there.
TEST(Names, EveryKeyOfThePageOfOtherProgramsNamesIsThere) {
  const std::string page = read_file(std::string(ALIBI_SOURCE_DIR) + "/configs/NAMES.md");
  Config defaults;
  std::set<std::string> folders, keys;
  for (const Section& section : sections(defaults)) {
    folders.insert(section.path.substr(0, section.path.find('.')));
    for (const Field& field : section.fields) keys.insert(cat(section.path, ".", field.name));
  }
  const std::regex word("`([a-z_]+)(\\.[a-z_*]+)+");
  std::int64_t checked = 0;
  for (const std::string& line : split(page, '\n')) {
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() != 4) continue;
    for (std::sregex_iterator at(cells[2].begin(), cells[2].end(), word), end; at != end; ++at) {
      const std::string key = at->str().substr(1);
      if (!folders.contains((*at)[1].str()) || key == "tokenizer.json") continue;
      ++checked;
      const std::regex pattern(std::regex_replace(std::regex_replace(key, std::regex("\\."), "\\."),
                                                  std::regex("\\*"), ".*"));
      EXPECT_TRUE(std::ranges::any_of(keys, [&](const std::string& one) {
        return std::regex_match(one, pattern);
      })) << key;
    }
  }
  EXPECT_GT(checked, 30);
  for (const char* name :
       {"train_sequence_length_scaling", "position_embedding_attribute", "attention_module_name",
        "attr_to_replace", "alibi_attention", "mask_replacement_function", "max_sequence_length",
        "heads_per_layer", "global_train_batch_size", "block_size"})
    EXPECT_NE(page.find(cat("`", name, "`")), std::string::npos) << name;
}

}  // namespace
}  // namespace alibi
