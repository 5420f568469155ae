#include "config/comparison.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/json/write.h"
#include "base/printable.h"
#include "base/strings.h"
#include "config/assign.h"
#include "config/seeds.h"

namespace alibi {
namespace {

constexpr std::uint64_t kLargestFile = 16u << 20;
constexpr std::size_t kMostVariants = 100, kMostSeeds = 100;

const std::vector<std::string> kKeys = {"name", "title",  "folder",   "measured", "any_device",
                                        "base", "config", "variants", "seeds",    "reference",
                                        "text", "tasks",  "$schema"};

// Names become names of files.
bool is_plain_name(const std::string& name) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == ',' || c == '=';
  };
  return !name.empty() && name.size() <= 64 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), plain);
}

class Reader {
 public:
  explicit Reader(const std::string& file) { result_.place = file; }

  ComparisonFile read() {
    std::vector<JsonFault> problems;
    root_ =
        parse_json(read_file(result_.place, kLargestFile), kConfigJson, problems).value_or(nullptr);
    for (const JsonFault& problem : problems) fault(problem.pointer, problem.problem);
    if (faults_.empty() && !root_.is_object())
      fault("", "found " + describe(root_) + ", expected an object");
    if (faults_.empty()) read_members();
    if (!faults_.empty()) throw Error(faults_, ExitCode::kUsage);
    return std::move(result_);
  }

 private:
  void read_members() {
    for (const auto& [key, value] : *root_.as_object()) {
      if (std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end()) continue;
      const std::string near = nearest(key, kKeys);
      fault("/" + pointer_part(key), "unknown key",
            near.empty()
                ? "a run's keys stand in config, and alibi train takes a run's config; alibi "
                  "inspect schema --comparison lists all"
                : "did you mean " + near + "?");
    }
    result_.name = std::filesystem::path(result_.place).stem().string();
    read_text("name", result_.name);
    if (!is_plain_name(result_.name))
      fault("/name", "found \"" + result_.name + "\", " + kNameRule);
    result_.folder = "runs/compare/" + result_.name;
    read_text("title", result_.title);
    read_text("folder", result_.folder);
    result_.measured = result_.folder + "/measured";
    read_text("measured", result_.measured);
    read_switch("any_device", result_.any_device);
    read_list("base", result_.base);
    read_list("text", result_.text);
    result_.common = {"{}", result_.place + ": /config"};
    if (const Json* common = root_.find("config"))
      read_fragment(*common, "/config", result_.common);
    read_variants();
    read_seeds();
    read_reference();
    read_tasks();
  }

  void read_text(const char* key, std::string& to) {
    const Json* value = root_.find(key);
    if (value == nullptr) return;
    if (value->is_string()) {
      to = *value->as_string();
    } else {
      fault(cat("/", key), "found " + describe(*value) + ", expected text");
    }
  }

  void read_switch(const char* key, bool& to) {
    const Json* value = root_.find(key);
    if (value == nullptr) return;
    if (value->is_bool()) {
      to = *value->as_bool();
    } else {
      fault(cat("/", key), "found " + describe(*value) + ", expected true or false");
    }
  }

  // One text or several.
  void read_list(const char* key, std::vector<std::string>& to) {
    const Json* value = root_.find(key);
    if (value == nullptr) return;
    for (const Json& one : value->is_list() ? *value->as_list() : JsonList{*value}) {
      if (one.is_string()) {
        to.push_back(*one.as_string());
      } else {
        fault(cat("/", key), "found " + describe(one) + ", expected names of files");
      }
    }
  }

  void read_fragment(const Json& value, const std::string& pointer, ConfigFragment& to) {
    if (!value.is_object())
      return fault(pointer, "found " + describe(value) + ", expected an object of config keys");
    const Json* run = value.find("run");
    for (const char* own : kRunKeysOfComparison) {
      if (run != nullptr && run->find(own) != nullptr)
        fault(cat(pointer, "/run/", own), kSetByComparison,
              std::string(own) == "seed" ? "\"seeds\": [0, 1, 2]" : "leave it out");
    }
    to = {write_json(value), result_.place + ": " + pointer};
  }

  void read_variants() {
    const Json* variants = root_.find("variants");
    if (variants == nullptr || !variants->is_object() || variants->empty() ||
        variants->size() > kMostVariants) {
      return fault("/variants",
                   variants != nullptr ? "found " + describe(*variants) : std::string("is missing"),
                   cat("an object of 1 to ", kMostVariants,
                       " variants: {\"alibi\": {}, \"none\": {\"model\": {\"position\": "
                       "\"none\"}}}"));
    }
    for (const auto& [name, changes] : *variants->as_object()) {
      const std::string pointer = "/variants/" + pointer_part(name);
      if (!is_plain_name(name)) fault(pointer, std::string("as a name: ") + kNameRule);
      result_.variants.push_back({name, {}});
      read_fragment(changes, pointer, result_.variants.back().changes);
    }
  }

  void read_tasks() {
    const Json* tasks = root_.find("tasks");
    if (tasks == nullptr) return;
    if (!tasks->is_object())
      return fault("/tasks", "found " + describe(*tasks) + ", expected an object",
                   "{\"recall\": {\"answers\": {\"trials\": 100}}}");
    const auto all = enum_names(Task());
    const std::vector<std::string> known(all.begin() + 1, all.end());  // perplexity is no task here
    for (const auto& [name, rules] : *tasks->as_object()) {
      const std::string pointer = "/tasks/" + pointer_part(name);
      const Json* asked = rules.find("task");  // else what the name says
      const std::string* const given = asked == nullptr ? &name : asked->as_string();
      if (!is_plain_name(name)) {
        fault(pointer, std::string("as a name: ") + kNameRule);
      } else if (!rules.is_object()) {
        fault(pointer, "found " + describe(rules) + ", expected an object of keys of \"evaluate\"");
      } else if (given == nullptr || std::ranges::find(known, *given) == known.end()) {
        fault(asked == nullptr ? pointer : pointer + "/task",
              given == nullptr ? "found " + describe(*asked) + ", expected the name of a task"
                               : "found " + shown(*given) + ", which is no task",
              cat("known: ", join(known, ", "), asked == nullptr ? "; \"task\" names one" : ""));
      } else {
        ComparisonTask task{name, {}};
        if (asked == nullptr) task.overrides.push_back("evaluate.task=" + name);
        for (const auto& [key, value] : *rules.as_object())
          task.overrides.push_back(cat("evaluate.", key, "=", write_json(value)));
        result_.tasks.push_back(std::move(task));
      }
    }
  }

  void read_seeds() {
    const Json* value = root_.find("seeds");
    if (value == nullptr) return;
    result_.seeds.clear();
    if (value->is_list() && value->size() <= kMostSeeds) {
      for (const Json& seed : *value->as_list())
        if (const auto number = seed.as_integer(); number && *number >= 0 && *number <= kMostSeed)
          result_.seeds.push_back(*number);
    }
    if (result_.seeds.empty() || result_.seeds.size() != value->size()) {
      return fault("/seeds", "found " + describe(*value),
                   cat("a list of 1 to ", kMostSeeds, " whole numbers from 0 to ", kMostSeed,
                       ": [0, 1, 2]"));
    }
    if (std::set(result_.seeds.begin(), result_.seeds.end()).size() != result_.seeds.size())
      fault("/seeds", "names a seed twice", "each seed is one run of every variant");
  }

  void read_reference() {
    std::vector<std::string> names;
    for (const ComparisonVariant& variant : result_.variants) names.push_back(variant.name);
    if (names.empty()) return;
    result_.reference = names.front();
    read_text("reference", result_.reference);
    if (std::find(names.begin(), names.end(), result_.reference) == names.end()) {
      fault("/reference", "found \"" + result_.reference + "\", expected one of the variants",
            join(names, ", "));
    }
  }

  void fault(const std::string& pointer, std::string problem, std::string way_out = {}) {
    faults_.push_back({pointer.empty() ? result_.place : result_.place + ": " + pointer,
                       std::move(problem), std::move(way_out)});
  }

  static constexpr const char* kNameRule =
      "expected at most 64 letters, digits and - _ . , = (it becomes the name of folders)";

  ComparisonFile result_;
  Json root_;
  std::vector<Fault> faults_;
};

}  // namespace

ComparisonFile load_comparison(const std::string& file) { return Reader(file).read(); }

}  // namespace alibi
