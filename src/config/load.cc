#include "config/load.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "config/fields.h"
#include "config/strict_json.h"
#include "config/validate.h"

namespace alibi {
namespace {

using nlohmann::ordered_json;

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

constexpr std::uint64_t kLargestFile = 16u << 20;

// Reads sources into one Config and remembers which source gave each key.
class Reader {
 public:
  void read_text(const std::string& text, const std::string& place) {
    std::vector<JsonFault> problems;
    const ordered_json root = parse_strict(text, problems);
    for (const JsonFault& problem : problems) fault(place, problem.pointer, problem.problem);
    if (!problems.empty()) return;
    if (!root.is_object())
      return fault(place, "", "found " + describe(root) + ", expected an object");
    read_object(root, "", place);
  }

  void read_override(const std::string& text) {
    const std::string place = "--set " + text;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fault(place, "", "expected path=value", "for example model.heads=4");
    }
    std::vector<JsonFault> ignored;
    ordered_json value = parse_strict(text.substr(equals + 1), ignored);
    if (!ignored.empty()) value = text.substr(equals + 1);
    const std::vector<std::string> parts = split(text.substr(0, equals), '.');
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      ordered_json wrapped = ordered_json::object();
      wrapped[*part] = std::move(value);
      value = std::move(wrapped);
    }
    read_object(value, "", place);
  }

  // Rules over several keys come last, and only when each key by itself is right.
  Config finish() {
    if (faults_.empty()) check_effects();
    if (faults_.empty()) {
      for (ConfigFault& rule : validate(config_)) {
        const auto given = given_.find(rule.pointer);
        fault(given == given_.end() ? "config" : given->second, rule.pointer, rule.problem,
              rule.way_out);
      }
    }
    if (!faults_.empty()) throw Error(faults_, ExitCode::kUsage);
    resolve(config_);
    return config_;
  }

  void fault(const std::string& place, const std::string& pointer, std::string problem,
             std::string way_out = {}) {
    const std::string where = pointer.empty() ? place : place + ": " + pointer;
    faults_.push_back({where, std::move(problem), std::move(way_out)});
  }

 private:
  void read_object(const ordered_json& object, const std::string& path, const std::string& place) {
    std::vector<Section> all = sections(config_);
    for (const auto& [key, value] : object.items()) {
      if (path.empty() && key == "$schema") continue;
      const std::string child = path.empty() ? key : path + "." + key;
      if (std::any_of(all.begin(), all.end(), [&](const Section& s) { return s.path == child; })) {
        if (value.is_object()) {
          read_object(value, child, place);
        } else {
          fault(place, slashes(child), "found " + describe(value) + ", expected an object");
        }
        continue;
      }
      Field* field = find_field(all, path, key);
      if (field == nullptr) {
        unknown(all, path, key, place);
      } else {
        read_field(*field, value, slashes(child), place);
      }
    }
  }

  static std::string slashes(std::string path) {
    std::replace(path.begin(), path.end(), '.', '/');
    return "/" + path;
  }

  static Field* find_field(std::vector<Section>& all, const std::string& path,
                           const std::string& key) {
    for (Section& section : all) {
      if (section.path != path) continue;
      for (Field& field : section.fields) {
        if (field.name == key) return &field;
      }
    }
    return nullptr;
  }

  void unknown(const std::vector<Section>& all, const std::string& path, const std::string& key,
               const std::string& place) {
    std::vector<std::string> names;
    std::string elsewhere;
    for (const Section& section : all) {
      const bool here = section.path == path;
      if (path.empty() && section.path.find('.') == std::string::npos)
        names.push_back(section.path);
      for (const Field& field : section.fields) {
        if (here) names.push_back(field.name);
        if (field.name == key) elsewhere = section.path + "." + key;
      }
    }
    std::string hint = nearest(key, names);
    if (!elsewhere.empty()) hint = elsewhere;
    fault(place, slashes(path.empty() ? key : path + "." + key), "unknown key",
          hint.empty() ? "alibi inspect schema lists all keys" : "did you mean " + hint + "?");
  }

  void read_field(Field& field, const ordered_json& value, const std::string& pointer,
                  const std::string& place) {
    const std::string expected = assign(field, value);
    if (!expected.empty()) {
      const std::string hint =
          std::holds_alternative<EnumTarget>(field.target) && value.is_string()
              ? nearest(value.get<std::string>(), std::get<EnumTarget>(field.target).names)
              : "";
      return fault(place, pointer, "found " + describe(value) + ", expected " + expected,
                   hint.empty() ? "" : "did you mean \"" + hint + "\"?");
    }
    given_[pointer] = place;
  }

  void check_effects() {
    for (Section& section : sections(config_)) {
      for (const Field& field : section.fields) {
        const auto given = given_.find(section.pointer(field));
        if (field.effective || given == given_.end()) continue;
        fault(given->second, given->first,
              "has no effect here: it counts only where " + field.condition, "remove the key");
      }
    }
  }

  static std::string range_text(const Field& field, const char* kind) {
    std::string text = kind;
    const bool low = std::isfinite(field.least), high = std::isfinite(field.most);
    const auto number = [](double v) { return significant(v, 10); };
    if (low && high) return text + " from " + number(field.least) + " to " + number(field.most);
    if (low) return text + " of at least " + number(field.least);
    return high ? text + " of at most " + number(field.most) : text;
  }

  static bool inside(const Field& field, double value) {
    return value >= field.least && value <= field.most;
  }

  // Integers are written as integers: 4.0, 1e3, true and what overflows 64 bits are refused.
  static bool integer(const ordered_json& value, std::int64_t& out) {
    if (!value.is_number_integer()) return false;
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return false;
    out = value.get<std::int64_t>();
    return true;
  }

  static bool real(const ordered_json& value, double& out) {
    if (!value.is_number()) return false;
    out = value.get<double>();
    return std::isfinite(out);
  }

  template <class T>
  static std::string assign_number(const Field& field, const ordered_json& value, T& out) {
    constexpr bool whole = std::is_same_v<T, std::int64_t>;
    T parsed{};
    bool fits = false;
    if constexpr (whole) {
      fits = integer(value, parsed);
    } else {
      fits = real(value, parsed);
    }
    if (!fits || !inside(field, static_cast<double>(parsed))) {
      return range_text(field, whole ? "a whole number" : "a number");
    }
    out = parsed;
    return {};
  }

  template <class T>
  static std::string assign_optional(const Field& field, const ordered_json& value,
                                     std::optional<T>& out) {
    if (value.is_null()) {
      out.reset();
      return {};
    }
    T parsed{};
    std::string expected = assign_number(field, value, parsed);
    if (expected.empty()) out = parsed;
    return expected;
  }

  template <class T, class Test>
  static std::string assign_list(const ordered_json& value, std::vector<T>& out, Test is_item,
                                 const char* what) {
    if (!value.is_array() || !std::all_of(value.begin(), value.end(), is_item)) return what;
    out = value.get<std::vector<T>>();
    return {};
  }

  static std::string assign_enum(const EnumTarget& target, const ordered_json& value) {
    const auto& names = target.names;
    const auto found = value.is_string()
                           ? std::find(names.begin(), names.end(), value.get<std::string>())
                           : names.end();
    if (found == names.end()) return "one of \"" + join(names, "\", \"") + "\"";
    target.set(static_cast<int>(found - names.begin()));
    return {};
  }

  // Stores the value, or returns what was expected instead.
  static std::string assign(const Field& field, const ordered_json& value) {
    return std::visit(
        Overloaded{
            [&](std::int64_t* out) { return assign_number(field, value, *out); },
            [&](double* out) { return assign_number(field, value, *out); },
            [&](std::optional<std::int64_t>* out) { return assign_optional(field, value, *out); },
            [&](std::optional<double>* out) { return assign_optional(field, value, *out); },
            [&](bool* out) -> std::string {
              if (!value.is_boolean()) return "true or false";
              *out = value.get<bool>();
              return {};
            },
            [&](std::string* out) -> std::string {
              if (!value.is_string()) return "a string";
              *out = value.get<std::string>();
              return {};
            },
            [&](std::vector<std::string>* out) {
              return assign_list(
                  value, *out, [](const ordered_json& v) { return v.is_string(); },
                  "a list of strings");
            },
            [&](std::vector<double>* out) {
              return assign_list(
                  value, *out, [](const ordered_json& v) { return v.is_number(); },
                  "a list of numbers");
            },
            [&](const EnumTarget& target) { return assign_enum(target, value); },
        },
        field.target);
  }

  Config config_;
  std::map<std::string, std::string> given_;  // pointer -> source that set it last
  std::vector<Fault> faults_;
};

ordered_json field_value(const Field& field) {
  return std::visit(Overloaded{
                        [](const EnumTarget& target) -> ordered_json {
                          return target.names[static_cast<std::size_t>(target.get())];
                        },
                        [](const auto* value) -> ordered_json {
                          if constexpr (requires { value->has_value(); }) {
                            return value->has_value() ? ordered_json(**value) : ordered_json();
                          } else {
                            return *value;
                          }
                        },
                    },
                    field.target);
}

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

}  // namespace

Config load_config(const std::vector<std::string>& files,
                   const std::vector<std::string>& overrides) {
  Reader reader;
  for (const std::string& file : files) {
    try {
      reader.read_text(read_file(file, kLargestFile), file);
    } catch (const Error& error) {
      reader.fault("", "", error.what());
    }
  }
  for (const std::string& text : overrides) reader.read_override(text);
  return reader.finish();
}

Config parse_config(const std::string& text, const std::string& place,
                    const std::vector<std::string>& overrides) {
  Reader reader;
  reader.read_text(text, place);
  for (const std::string& change : overrides) reader.read_override(change);
  return reader.finish();
}

std::string config_json(const Config& config) { return to_json(config, false).dump(2) + "\n"; }

std::string identity_json(const Config& config) { return to_json(config, true).dump(); }

std::vector<ConfigDifference> identity_differences(const Config& first, const Config& second) {
  const ordered_json a = to_json(first, true).flatten(), b = to_json(second, true).flatten();
  const auto text = [](const ordered_json& values, const std::string& key) {
    return values.contains(key) ? values[key].dump() : std::string("(absent)");
  };
  std::vector<ConfigDifference> differences;
  for (const auto& [key, value] : a.items()) {
    if (text(b, key) != value.dump()) differences.push_back({key, value.dump(), text(b, key)});
  }
  for (const auto& [key, value] : b.items()) {
    if (!a.contains(key)) differences.push_back({key, "(absent)", value.dump()});
  }
  return differences;
}

}  // namespace alibi
