// A Config back to JSON: what runs store, what decides their identity, and in what two differ.
#include <map>
#include <set>

#include "base/json/write.h"
#include "base/strings.h"
#include "config/assign.h"
#include "config/fields.h"
#include "config/load.h"

namespace alibi {
namespace {

Json json_of(Config config, bool identity_only) {
  Json root = Json::object();
  for (const Section& section : sections(config)) {
    for (const Field& field : section.fields) {
      Json value = field_value(field);
      if (!field.effective || value.is_null()) continue;
      if (identity_only && !(field.identity && field.counts)) continue;
      Json* parent = &root;
      for (const std::string& part : split(section.path, '.')) parent = &(*parent)[part];
      (*parent)[field.name] = std::move(value);
    }
  }
  return root;
}

using Pointers = std::vector<std::pair<std::string, std::string>>;

// Every value that holds no others, as JSON, by its pointer. Empty lists count as null.
void flatten(const Json& json, const std::string& pointer, Pointers& flat) {
  if (json.is_object()) {
    for (const auto& [key, value] : *json.as_object())
      flatten(value, pointer + "/" + pointer_part(key), flat);
  } else if (!json.empty()) {
    for (std::size_t i = 0; i < json.size(); ++i)
      flatten((*json.as_list())[i], cat(pointer, "/", i), flat);
  } else {
    flat.emplace_back(pointer, json.is_list() ? "null" : write_json(json));
  }
}

Pointers values(const Config& config, bool identity_only) {
  Pointers flat;
  flatten(json_of(config, identity_only), "", flat);
  return flat;
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

std::vector<ConfigDifference> differences_of(const Pointers& a, const Pointers& b) {
  const std::map<std::string, std::string> in_a(a.begin(), a.end()), in_b(b.begin(), b.end());
  const std::set<std::string> adjustable = adjustable_pointers();
  std::vector<ConfigDifference> differences;
  for (const auto& [pointer, value] : a) {
    const auto other = in_b.find(pointer);
    const std::string text = other == in_b.end() ? "(absent)" : other->second;
    if (text != value) differences.push_back({pointer, value, text, adjustable.contains(pointer)});
  }
  for (const auto& [pointer, value] : b) {
    if (!in_a.contains(pointer))
      differences.push_back({pointer, "(absent)", value, adjustable.contains(pointer)});
  }
  return differences;
}

}  // namespace

std::string config_json(const Config& config) {
  return write_json(json_of(config, false), {.indent = 2}) + "\n";
}

std::string identity_json(const Config& config) { return write_json(json_of(config, true)); }

std::vector<ConfigDifference> identity_differences(const Config& first, const Config& second) {
  return differences_of(values(first, true), values(second, true));
}

std::vector<ConfigDifference> config_differences(const Config& first, const Config& second) {
  return differences_of(values(first, false), values(second, false));
}

}  // namespace alibi
