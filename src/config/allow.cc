// Which keys may be overridden where only some have an effect.
#include <algorithm>

#include "base/error.h"
#include "base/strings.h"
#include "config/assign.h"
#include "config/fields.h"
#include "config/load.h"

namespace alibi {
namespace {

using Keys = std::vector<std::string>;

void add_keys(const std::string& path, const Json& value, Keys& keys) {
  if (!value.is_object() || value.empty()) return keys.push_back(path);
  for (const auto& [name, below] : *value.as_object()) add_keys(path + "." + name, below, keys);
}

// What `change` sets, in either form: model.heads=4 or model={"heads": 4}.
Keys keys_of(const std::string& change) {
  const std::size_t equals = std::min(change.find('='), change.size());
  std::vector<JsonFault> ignored;  // as the reader: what is no JSON is a string
  Keys keys;
  const std::string value = change.substr(std::min(equals + 1, change.size()));
  add_keys(change.substr(0, equals), parse_json(value, kConfigJson, ignored).value_or(nullptr),
           keys);
  return keys;
}

bool lies_in(const std::string& key, const std::string& allowed) {
  return key == allowed || key.starts_with(allowed + ".");
}

}  // namespace

bool names_key(const Keys& overrides, const std::string& key) {
  return std::ranges::any_of(overrides, [&](const std::string& change) {
    return std::ranges::count(keys_of(change), key) > 0;
  });
}

void allow_overrides(const Keys& overrides, const Keys& allowed, const std::string& problem) {
  Config any;
  const std::vector<Section> all = sections(any);
  Keys texts;
  for (const std::string& key : allowed)
    texts.push_back(key.find('.') == std::string::npos ? key + ".*" : key);
  for (const std::string& change : overrides) {
    for (const std::string& key : keys_of(change)) {
      const std::string first = key.substr(0, key.find('.'));
      const bool known =
          std::ranges::any_of(all, [&](const Section& section) { return section.path == first; });
      const bool fine =
          std::ranges::any_of(allowed, [&](const std::string& one) { return lies_in(key, one); });
      if (!known || fine) continue;
      throw usage_error("--set " + change, problem,
                        "only " + join(texts, " and ") + " keys may be set here");
    }
  }
}

}  // namespace alibi
