#include "config/strict_json.h"

#include <set>

#include "base/strings.h"

namespace alibi {
namespace {

using nlohmann::ordered_json;

constexpr int kDeepest = 32;  // copying and printing recurse once per level

// Watches the parser's events and knows where it stands.
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
    const bool ends = event == Event::object_end || event == Event::array_end;
    if (ends && !open_.empty()) open_.pop_back();
    if (event == Event::key && !open_.empty()) enter(parsed.get<std::string>());
    if (!ends && event != Event::key && !open_.empty() && open_.back().is_list)
      open_.back().at = cat(open_.back().items++);
    if (event == Event::object_start) open_.push_back({});
    if (event == Event::array_start) open_.push_back({.is_list = true, .at = {}, .names = {}});
    return true;
  }

 private:
  // An object or list that is not closed yet, and the key or index now read in it.
  struct Open {
    bool is_list = false;
    int items = 0;
    std::string at;
    std::set<std::string> names;
  };

  void enter(const std::string& name) {
    open_.back().at = pointer_part(name);
    if (open_.back().names.insert(name).second) return;
    std::string pointer;
    for (const Open& open : open_) pointer += "/" + open.at;
    faults_.push_back({pointer, "stands twice, expected each key once"});
  }

  std::vector<JsonFault>& faults_;
  std::vector<Open> open_;
  bool too_deep_ = false;
};

// "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error ..." without its
// code.
std::string parser_message(const std::string& text) {
  const std::size_t code = text.find("] ");
  return code == std::string::npos ? text : text.substr(code + 2);
}

}  // namespace

std::string pointer_part(const std::string& key) {
  std::string text;
  for (const char c : key) text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return text;
}

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
