// A Config back to JSON: what runs store, what decides their identity, and in what two differ.
#include <set>

#include "config/assign.h"
#include "config/fields.h"
#include "config/load.h"
#include "config/strict_json.h"

namespace alibi {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(Config config, bool identity_only) {
  ordered_json root = ordered_json::object();
  for (const Section& section : sections(config)) {
    for (const Field& field : section.fields) {
      const ordered_json value = field_value(field);
      if (!field.effective || value.is_null() || (identity_only && !field.identity)) continue;
      root[ordered_json::json_pointer(section.pointer(field))] = value;
    }
  }
  return root;
}

std::set<std::string> adjustable_pointers() {
  Config defaults;
  std::set<std::string> pointers;
  for (const Section& section : sections(defaults)) {
    for (const Field& field : section.fields) {
      if (field.adjustable) pointers.insert(section.pointer(field));
    }
  }
  return pointers;
}

}  // namespace

std::string config_json(const Config& config) { return to_json(config, false).dump(2) + "\n"; }

std::string identity_json(const Config& config) { return to_json(config, true).dump(); }

std::vector<ConfigDifference> identity_differences(const Config& first, const Config& second) {
  const ordered_json a = to_json(first, true).flatten(), b = to_json(second, true).flatten();
  const auto text = [](const ordered_json& values, const std::string& key) {
    return values.contains(key) ? values[key].dump() : std::string("(absent)");
  };
  const std::set<std::string> adjustable = adjustable_pointers();
  std::vector<ConfigDifference> differences;
  for (const auto& [key, value] : a.items()) {
    if (text(b, key) != value.dump())
      differences.push_back({key, value.dump(), text(b, key), adjustable.contains(key)});
  }
  for (const auto& [key, value] : b.items()) {
    if (!a.contains(key))
      differences.push_back({key, "(absent)", value.dump(), adjustable.contains(key)});
  }
  return differences;
}

}  // namespace alibi
