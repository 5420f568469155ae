#include "config/strict_json.h"

#include <set>

#include "base/strings.h"

namespace alibi {
namespace {

using nlohmann::ordered_json;

constexpr int kDeepest = 32;  // copying and printing recurse once per level

// Watches the parser's events: a set of names for each open object.
class Watcher {
 public:
  explicit Watcher(std::vector<JsonFault>& faults) : faults_(faults) {}

  bool operator()(int depth, ordered_json::parse_event_t event, ordered_json& parsed) {
    using Event = ordered_json::parse_event_t;
    if (depth > kDeepest) {
      if (!too_deep_) faults_.push_back({"", cat("nested deeper than ", kDeepest, " levels")});
      too_deep_ = true;
      return false;
    }
    if (event == Event::object_start) names_.emplace_back();
    if (event == Event::object_end && !names_.empty()) names_.pop_back();
    if (event == Event::key && !names_.empty()) note(parsed.get<std::string>());
    return true;
  }

 private:
  void note(const std::string& name) {
    if (names_.back().insert(name).second) return;
    faults_.push_back({"", cat("the key \"", name, "\" stands twice in one object")});
  }

  std::vector<JsonFault>& faults_;
  std::vector<std::set<std::string>> names_;
  bool too_deep_ = false;
};

// "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error ..." without its
// code.
std::string parser_message(const std::string& text) {
  const std::size_t code = text.find("] ");
  return code == std::string::npos ? text : text.substr(code + 2);
}

}  // namespace

ordered_json parse_strict(const std::string& text, std::vector<JsonFault>& faults) {
  const std::size_t before = faults.size();
  Watcher watcher(faults);
  const auto callback = [&watcher](int depth, ordered_json::parse_event_t event,
                                   ordered_json& parsed) { return watcher(depth, event, parsed); };
  ordered_json value;
  try {
    value =
        ordered_json::parse(text, callback, /*allow_exceptions=*/true, /*ignore_comments=*/true);
  } catch (const nlohmann::json::exception& error) {
    faults.push_back({"", "is not JSON: " + parser_message(error.what())});
  }
  return faults.size() == before ? value : ordered_json();
}

std::string describe(const ordered_json& value) {
  switch (value.type()) {
    case ordered_json::value_t::object:
      return "an object";
    case ordered_json::value_t::array:
      return "a list";
    case ordered_json::value_t::null:
      return "null";
    case ordered_json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case ordered_json::value_t::string: {
      const auto text = value.get<std::string>();
      return "\"" + (text.size() > 40 ? text.substr(0, 40) + "..." : text) + "\"";
    }
    default:
      return value.dump();
  }
}

}  // namespace alibi
