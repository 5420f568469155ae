#include "config/load.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json/write.h"
#include "base/log.h"
#include "base/strings.h"
#include "config/assign.h"
#include "config/fields.h"
#include "config/validate.h"

namespace alibi {
namespace {

constexpr std::uint64_t kLargestFile = 16u << 20;
const std::string kOverride = "--set ";

// Reads sources into one Config and remembers which source gave each key.
class Reader {
 public:
  void read_text(const std::string& text, const std::string& place) {
    std::vector<JsonFault> problems;
    const std::optional<Json> root = parse_json(text, kConfigJson, problems);
    const bool yaml = place.ends_with(".yaml") || place.ends_with(".yml");
    const std::string way_out =
        yaml ? "a config is JSON; configs/NAMES.md has the keys of other trainers" : "";
    for (const JsonFault& problem : problems)
      fault(place, problem.pointer, problem.problem, way_out);
    if (root && root->is_object()) return read_object(*root, "", place);
    if (root) fault(place, "", "found " + describe(*root) + ", expected an object");
    incomplete_ = true;
  }

  void unreadable(const Error& error) {
    fault("", "", error.what());
    incomplete_ = true;
  }

  void read_override(const std::string& text) {
    const std::string place = kOverride + text;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fault(place, "", "expected path=value", "for example model.heads=4");
    }
    if (const std::size_t bad = first_invalid_utf8(text); bad != std::string::npos) {
      return fault(place, "", cat("is not valid UTF-8 at byte ", bad));
    }
    std::vector<JsonFault> problems;
    const std::string given = text.substr(equals + 1);
    const std::optional<Json> parsed = parse_json(given, kConfigJson, problems);
    const bool is_json = !given.empty() && std::string("{[\"").find(given[0]) != std::string::npos;
    if (!parsed && is_json) return fault(place, "", problems.front().problem);
    Json value = parsed.value_or(given);
    const std::vector<std::string> parts = split(text.substr(0, equals), '.');
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      Json wrapped;
      wrapped[*part] = std::move(value);
      value = std::move(wrapped);
    }
    read_object(value, "", place);
  }

  // A run stores how it was to be measured; measuring it otherwise is no fault. So what had an
  // effect so far, and what later sources leave without one, goes back to its default.
  void keep_as_stored() {
    notes_.clear();  // a run's stored config is not the user's to change
    for (Section& section : sections(config_)) {
      if (!section.path.starts_with("evaluate")) continue;
      for (const Field& field : section.fields) {
        const auto given = given_.find(section.pointer(field));
        if (field.effective && given != given_.end()) stored_.insert(*given);
      }
    }
  }

  // Every pass runs, whatever the others found: one start shows all faults. Only a source that was
  // not read at all, and may hold any key, leaves nothing to judge keys together by.
  Config finish() {
    log_notes();
    if (!incomplete_) drop_stored();
    if (!incomplete_) check_effects();
    if (!incomplete_) check_rules();
    if (!faults_.empty()) throw Error(faults_, ExitCode::kUsage);
    resolve(config_);
    return config_;
  }

  void fault(const std::string& place, const std::string& pointer, std::string problem,
             std::string way_out = {}) {
    const std::string where = pointer.empty() ? place : place + ": " + pointer;
    faults_.push_back({where, std::move(problem), std::move(way_out)});
    if (!pointer.empty()) faulty_.insert(pointer);
  }

 private:
  void read_object(const Json& object, const std::string& path, const std::string& place) {
    std::vector<Section> all = sections(config_);
    for (const auto& [key, value] : *object.as_object()) {
      if (path.empty() && key == "$schema") continue;
      const std::string name = present_name(object, path, key, place);
      const std::string child = path.empty() ? name : path + "." + name;
      const bool dotted = key.find('.') != std::string::npos;  // dots belong to --set
      if (!dotted &&
          std::any_of(all.begin(), all.end(), [&](const Section& s) { return s.path == child; })) {
        if (value.is_object()) {
          read_object(value, child, place);
        } else {
          fault(place, section_pointer(child), "found " + describe(value) + ", expected an object");
        }
        continue;
      }
      Field* field = find_field(all, path, name);
      if (field == nullptr) {
        unknown(all, path, key, place);
      } else {
        // null is "not given": it takes an earlier source's value back. In files it is that of keys
        // whose default is no value.
        const bool is_default = value.is_null() && place.starts_with(kOverride);
        read_field(*field, is_default ? field_value(default_field(path, name)) : value,
                   section_pointer(path) + "/" + name, place);
        if (value.is_null()) given_.erase(section_pointer(path) + "/" + name);
      }
    }
  }

  // What a key of an earlier version is called now; any other key as it is.
  std::string present_name(const Json& object, const std::string& path, const std::string& key,
                           const std::string& place) {
    for (const RenamedKey& one : renamed_keys()) {
      if (one.section != path || one.before != key) continue;
      if (object.find(one.now) != nullptr)
        fault(place, section_pointer(path) + "/" + key, "is the earlier name of " + one.now,
              "the object has both: remove one");
      notes_.insert(cat(place, ": ", path, ".", key, " is now called ", path, ".", one.now));
      return one.now;
    }
    return key;
  }

  // Once in a process: a comparison reads one file for each variant.
  void log_notes() const {
    static std::set<std::string> logged;
    for (const std::string& note : notes_)
      if (logged.insert(note).second) log_info("note: " + note);
  }

  static std::string section_pointer(std::string path) {
    std::replace(path.begin(), path.end(), '.', '/');
    return path.empty() ? "" : "/" + path;
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
    const std::string prefix = path.empty() ? "" : path + ".";
    for (const Section& section : all) {
      const std::string leaf = section.path.substr(section.path.rfind('.') + 1);
      if (section.path == prefix + leaf) names.push_back(leaf);
      if (leaf == key) elsewhere = section.path;
      for (const Field& field : section.fields) {
        if (section.path == path) names.push_back(field.name);
        if (field.name == key) elsewhere = section.path + "." + key;
      }
    }
    const std::string hint = elsewhere.empty() ? nearest(key, names) : elsewhere;
    std::string way_out = "did you mean " + hint + "?";
    if (hint.empty())
      way_out = "alibi inspect schema lists all keys, configs/NAMES.md those of other trainers";
    if (path.empty() && key == "variants") way_out = "for comparisons: alibi compare";
    if (key.find('.') != std::string::npos) way_out = "dots belong to --set; nest the objects here";
    fault(place, section_pointer(path) + "/" + pointer_part(key), "unknown key", way_out);
  }

  void read_field(Field& field, const Json& value, const std::string& pointer,
                  const std::string& place) {
    if (const std::optional<Mismatch> wrong = assign(field, value)) {
      return fault(place, pointer + wrong->item,
                   "found " + wrong->found + ", expected " + wrong->expected,
                   wrong->near.empty() ? "" : "did you mean \"" + wrong->near + "\"?");
    }
    given_[pointer] = place;
  }

  void check_rules() {
    for (ConfigFault& rule : validate(config_, faulty_)) {
      fault(source_of(rule.pointer), rule.pointer, rule.problem, rule.way_out);
    }
  }

  // Which source set a key; an item of a list ("/evaluate/lengths/0") came with its list.
  std::string source_of(const std::string& pointer) const {
    auto given = given_.find(pointer);
    if (given == given_.end()) given = given_.find(pointer.substr(0, pointer.rfind('/')));
    return given == given_.end() ? "config" : given->second;
  }

  void drop_stored() {
    for (bool again = true; std::exchange(again, false);) {  // one key may decide about another
      for (Section& section : sections(config_)) {
        for (Field& field : section.fields) {
          const std::string pointer = section.pointer(field);
          const auto stored = stored_.find(pointer), given = given_.find(pointer);
          const bool same =
              stored != stored_.end() && given != given_.end() && stored->second == given->second;
          if (field.effective || !same) continue;
          static_cast<void>(assign(field, field_value(default_field(section.path, field.name))));
          given_.erase(given);
          again = true;
        }
      }
    }
  }

  Field default_field(const std::string& path, const std::string& name) {
    std::vector<Section> all = sections(defaults_);
    return *find_field(all, path, name);
  }

  void check_effects() {
    for (Section& section : sections(config_)) {
      for (const Field& field : section.fields) {
        const auto given = given_.find(section.pointer(field));
        if (field.effective || given == given_.end() || reads_faulty(field)) continue;
        fault(given->second, given->first,
              "has no effect here: it counts only where " + field.condition,
              cat("remove the key, or --set ", section.path, ".", field.name, "=null"));
      }
    }
  }

  // A field's condition names every key that it depends on.
  bool reads_faulty(const Field& field) const {
    return std::any_of(faulty_.begin(), faulty_.end(), [&](const std::string& pointer) {
      std::string path = pointer.substr(1);
      std::replace(path.begin(), path.end(), '/', '.');
      return field.condition.find(path) != std::string::npos;
    });
  }

  Config config_, defaults_;
  std::map<std::string, std::string> given_;   // pointer -> source that set it last
  std::map<std::string, std::string> stored_;  // the same of what was stored
  std::set<std::string> notes_;                // on renamed keys
  std::vector<Fault> faults_;
  std::set<std::string> faulty_;  // their pointers
  bool incomplete_ = false;       // a source could not be read
};

}  // namespace

Config load_config(const std::vector<std::string>& files, const std::vector<std::string>& overrides,
                   const std::vector<ConfigFragment>& fragments) {
  Reader reader;
  for (const std::string& file : files) {
    try {
      std::error_code ignored;
      if (std::filesystem::is_directory(file, ignored))
        throw Error(file, "is a folder, and a config is a JSON file",
                    "a run folder keeps its own in config.json");
      reader.read_text(read_file(file, kLargestFile), file);
    } catch (const Error& error) {
      reader.unreadable(error);
    }
  }
  for (const ConfigFragment& fragment : fragments) reader.read_text(fragment.text, fragment.place);
  for (const std::string& text : overrides) reader.read_override(text);
  return reader.finish();
}

Config parse_config(const std::string& text, const std::string& place,
                    const std::vector<std::string>& overrides) {
  Reader reader;
  reader.read_text(text, place);
  reader.keep_as_stored();
  for (const std::string& change : overrides) reader.read_override(change);
  return reader.finish();
}

Config with_train_tokens(const Config& config, std::int64_t tokens) {
  return parse_config(config_json(config), "config", {cat("run.train_tokens=", tokens)});
}

}  // namespace alibi
