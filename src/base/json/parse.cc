#include "base/json/parse.h"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "base/strings.h"

namespace alibi {
namespace {

constexpr std::size_t kMostFaults = 20;
constexpr std::size_t kFewMembers = 16;  // a search through them is cheaper than a set

// "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error ..." without its
// code.
std::string parser_message(std::string_view text) {
  const std::size_t code = text.find("] ");
  return printable(code == text.npos ? text : text.substr(code + 2), 300);
}

// A list or object that is not closed yet.
struct Open {
  Json* value;
  std::unordered_set<std::string> keys = {};  // of an object with more than a few members
};

// Builds the tree from the parser's events; an event that returns false ends the parse.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(const JsonOptions& options, std::vector<JsonFault>& faults)
      : options_(options), faults_(faults) {}
  Json& root() { return root_; }

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override {
    return add(value) != nullptr;
  }
  bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return refuse("holds binary data"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::list()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const bool duplicate = !is_new(open_.back(), name);
    open_.back().value->append(std::move(name), Json());
    if (duplicate) refuse("duplicate key");
    return faults_.size() < kMostFaults;
  }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    faults_.push_back({"", "is not JSON: " + parser_message(error.what())});
    return false;
  }

 private:
  static bool is_new(Open& open, const std::string& name) {
    const JsonObject& members = *open.value->as_object();
    if (members.size() < kFewMembers) return open.value->find(name) == nullptr;
    if (open.keys.empty())
      for (const JsonMember& member : members) open.keys.insert(member.key);
    return open.keys.insert(name).second;
  }

  // Of the value that is read now, which the innermost list does not hold yet.
  std::string pointer() const {
    std::string text;
    for (const Open& open : open_) {
      const JsonObject* object = open.value->as_object();
      const bool innermost = &open == &open_.back();
      text += object == nullptr ? cat("/", open.value->size() - (innermost ? 0 : 1))
                                : "/" + pointer_part(object->back().key);
    }
    return text;
  }

  bool refuse(std::string problem) {
    faults_.push_back({pointer(), std::move(problem)});
    return false;
  }

  Json* add(Json value) {
    if (++values_ > options_.values) {
      refuse(cat("holds more than ", options_.values, " values"));
      return nullptr;
    }
    Json* slot = &root_;
    if (!open_.empty()) {
      Json& parent = *open_.back().value;
      if (parent.is_list()) parent.push_back(nullptr);
      slot = parent.is_list() ? &parent.as_list()->back() : &parent.as_object()->back().value;
    }
    *slot = std::move(value);
    return slot;
  }

  // Pointers in open_ stay good: only the innermost list or object grows while it is open.
  bool open(Json value) {
    if (open_.size() >= options_.depth)
      return refuse(cat("is nested deeper than ", options_.depth, " levels"));
    Json* slot = add(std::move(value));
    if (slot != nullptr) open_.push_back({slot});
    return slot != nullptr;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  const JsonOptions& options_;
  std::vector<JsonFault>& faults_;
  std::size_t values_ = 0;
  Json root_;
  std::vector<Open> open_;
};

}  // namespace

std::optional<Json> parse_json(std::string_view text, const JsonOptions& options,
                               std::vector<JsonFault>& faults) {
  std::vector<JsonFault> found;
  TreeBuilder builder(options, found);
  // The parser takes a zero byte for the end of its input, so whatever follows one would pass.
  if (text.empty()) {
    found.push_back({"", "is not JSON: the text is empty"});
  } else if (!options.any_value && text.front() != '{') {
    found.push_back({"", "does not begin with '{'"});
  } else if (const std::size_t zero = text.find('\0'); zero != text.npos) {
    found.push_back({"", cat("holds a zero byte, at byte ", zero)});
  } else {
    nlohmann::json::sax_parse(text.begin(), text.end(), &builder,
                              nlohmann::json::input_format_t::json, /*strict=*/true,
                              options.comments);
  }
  faults.insert(faults.end(), found.begin(), found.end());
  if (!found.empty()) return std::nullopt;
  return std::move(builder.root());
}

Json parse_json(std::string_view text, const std::string& place, const JsonOptions& options) {
  std::vector<JsonFault> faults;
  std::optional<Json> json = parse_json(text, options, faults);
  if (json) return *std::move(json);
  const JsonFault& first = faults.front();
  throw Error(first.pointer.empty() ? place : place + ": " + first.pointer, first.problem);
}

}  // namespace alibi
