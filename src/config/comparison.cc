#include "config/comparison.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "config/strict_json.h"

namespace alibi {
namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t kLargestFile = 16u << 20;
constexpr std::size_t kMostVariants = 100, kMostSeeds = 100;

const std::vector<std::string> kKeys = {"name",     "title", "folder",    "base", "config",
                                        "variants", "seeds", "reference", "text", "$schema"};

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
    root_ = parse_strict(read_file(result_.place, kLargestFile), problems);
    for (const JsonFault& problem : problems) fault(problem.pointer, problem.problem);
    if (faults_.empty() && !root_.is_object())
      fault("", "found " + describe(root_) + ", expected an object");
    if (faults_.empty()) read_members();
    if (!faults_.empty()) throw Error(faults_, ExitCode::kUsage);
    return std::move(result_);
  }

 private:
  void read_members() {
    for (const auto& [key, value] : root_.items()) {
      if (std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end()) continue;
      const std::string near = nearest(key, kKeys);
      fault("/" + pointer_part(key), "unknown key",
            near.empty() ? "known: " + join(kKeys, ", ") : "did you mean " + near + "?");
    }
    result_.name = std::filesystem::path(result_.place).stem().string();
    read_text("name", result_.name);
    if (!is_plain_name(result_.name))
      fault("/name", "found \"" + result_.name + "\", " + kNameRule);
    result_.folder = "runs/compare/" + result_.name;
    read_text("title", result_.title);
    read_text("folder", result_.folder);
    read_list("base", result_.base);
    read_list("text", result_.text);
    result_.common = {"{}", result_.place + ": /config"};
    if (root_.contains("config")) read_fragment(root_["config"], "/config", result_.common);
    read_variants();
    read_seeds();
    read_reference();
  }

  void read_text(const char* key, std::string& to) {
    if (!root_.contains(key)) return;
    if (root_[key].is_string()) {
      to = root_[key].get<std::string>();
    } else {
      fault(cat("/", key), "found " + describe(root_[key]) + ", expected text");
    }
  }

  // One text or several.
  void read_list(const char* key, std::vector<std::string>& to) {
    if (!root_.contains(key)) return;
    const ordered_json& value = root_[key];
    const ordered_json all = value.is_array() ? value : ordered_json::array({value});
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].is_string()) {
        to.push_back(all[i].get<std::string>());
      } else {
        fault(cat("/", key), "found " + describe(all[i]) + ", expected names of files");
      }
    }
  }

  void read_fragment(const ordered_json& value, const std::string& pointer, ConfigFragment& to) {
    if (!value.is_object())
      return fault(pointer, "found " + describe(value) + ", expected an object of config keys");
    for (const char* own : {"name", "folder", "seed"}) {
      if (value.contains("run") && value["run"].is_object() && value["run"].contains(own))
        fault(cat(pointer, "/run/", own), "is set by the comparison for each run",
              std::string(own) == "seed" ? "\"seeds\": [0, 1, 2]" : "leave it out");
    }
    to = {value.dump(), result_.place + ": " + pointer};
  }

  void read_variants() {
    if (!root_.contains("variants") || !root_["variants"].is_object() ||
        root_["variants"].empty() || root_["variants"].size() > kMostVariants) {
      return fault("/variants",
                   root_.contains("variants") ? "found " + describe(root_["variants"])
                                              : std::string("is missing"),
                   cat("an object of 1 to ", kMostVariants,
                       " variants: {\"alibi\": {}, \"none\": {\"model\": {\"position\": "
                       "\"none\"}}}"));
    }
    for (const auto& [name, changes] : root_["variants"].items()) {
      const std::string pointer = "/variants/" + pointer_part(name);
      if (!is_plain_name(name)) fault(pointer, std::string("as a name: ") + kNameRule);
      result_.variants.push_back({name, {}});
      read_fragment(changes, pointer, result_.variants.back().changes);
    }
  }

  void read_seeds() {
    if (!root_.contains("seeds")) return;
    const ordered_json& value = root_["seeds"];
    result_.seeds.clear();
    const bool list = value.is_array() && !value.empty() && value.size() <= kMostSeeds;
    if (!list || !std::all_of(value.begin(), value.end(), [](const ordered_json& seed) {
          return seed.is_number_integer() &&
                 !(seed.is_number_unsigned() && seed.get<std::uint64_t>() > INT64_MAX) &&
                 seed.get<std::int64_t>() >= 0;
        })) {
      return fault("/seeds", "found " + describe(value),
                   cat("a list of 1 to ", kMostSeeds, " whole numbers from 0 on: [0, 1, 2]"));
    }
    result_.seeds = value.get<std::vector<std::int64_t>>();
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
  ordered_json root_;
  std::vector<Fault> faults_;
};

}  // namespace

ComparisonFile load_comparison(const std::string& file) { return Reader(file).read(); }

}  // namespace alibi
