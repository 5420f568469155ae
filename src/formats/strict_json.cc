#include "formats/strict_json.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/strings.h"

namespace alibi {
namespace {

// Builds the tree from the parser's events; a returned false ends the parse with problem_ set.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeBuilder(JsonLimits limits) : limits_(limits) {}
  const std::string& problem() const { return problem_; }
  StrictJson& root() { return root_; }

  bool null() override { return add({}) != nullptr; }
  bool boolean(bool value) override { return add({value}) != nullptr; }
  bool number_integer(number_integer_t value) override { return add({value}) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value > kLargest) return add({static_cast<std::uint64_t>(value)}) != nullptr;
    return add({static_cast<std::int64_t>(value)}) != nullptr;
  }
  bool number_float(number_float_t value, const string_t&) override {
    return add({value}) != nullptr;
  }
  bool string(string_t& value) override { return add({std::move(value)}) != nullptr; }
  bool binary(binary_t&) override { return refuse("holds binary data"); }
  bool start_object(std::size_t) override { return open({StrictObject()}); }
  bool start_array(std::size_t) override { return open({StrictArray()}); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    auto& object = std::get<StrictObject>(open_.back()->value);
    const auto [member, is_new] = object.try_emplace(name);
    if (!is_new) return refuse(cat("holds the name ", shown(name), " twice"));
    member_ = &member->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return refuse(cat("is not valid JSON at byte ", position));
  }

 private:
  bool refuse(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  StrictJson* add(StrictJson json) {
    if (++values_ > limits_.values) {
      refuse(cat("holds more than ", limits_.values, " values"));
      return nullptr;
    }
    StrictJson* slot = member_;
    if (open_.empty()) {
      slot = &root_;
    } else if (auto* array = std::get_if<StrictArray>(&open_.back()->value)) {
      slot = &array->emplace_back();
    }
    *slot = std::move(json);
    return slot;
  }

  // Pointers into open_ stay good: only the innermost container grows while it is open.
  bool open(StrictJson json) {
    if (open_.size() >= limits_.depth) {
      return refuse(cat("is nested deeper than ", limits_.depth, " levels"));
    }
    StrictJson* slot = add(std::move(json));
    if (slot != nullptr) open_.push_back(slot);
    return slot != nullptr;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  JsonLimits limits_;
  std::size_t values_ = 0;
  StrictJson root_;
  std::vector<StrictJson*> open_;
  StrictJson* member_ = nullptr;
  std::string problem_;
};

template <class Type>
const Type& as(const StrictJson& json, const char* expected, const std::string& place) {
  const Type* value = std::get_if<Type>(&json.value);
  if (value == nullptr) throw Error(place, cat("is not ", expected));
  return *value;
}

}  // namespace

StrictObject parse_strict_json(std::string_view text, const std::string& place, JsonLimits limits) {
  if (text.empty()) throw Error(place, "is empty");
  if (text.front() != '{') throw Error(place, "does not begin with '{'");
  // The parser takes a zero byte for the end of its input, so whatever follows one would pass.
  if (text.find('\0') != text.npos) throw Error(place, "holds a zero byte");
  TreeBuilder builder(limits);
  const bool whole = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  if (!whole) throw Error(place, builder.problem());
  return std::move(std::get<StrictObject>(builder.root().value));
}

const StrictJson& required(const StrictObject& object, std::string_view name,
                           const std::string& place) {
  const auto member = object.find(name);
  if (member == object.end()) throw Error(place, cat("has no \"", name, "\""));
  return member->second;
}

void refuse_unknown(const StrictObject& object, std::initializer_list<std::string_view> known,
                    const std::string& place) {
  for (const auto& [name, value] : object) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error(place, cat("holds the unknown name ", shown(name)));
    }
  }
}

const StrictObject& as_object(const StrictJson& json, const std::string& place) {
  return as<StrictObject>(json, "an object", place);
}

const StrictArray& as_array(const StrictJson& json, const std::string& place) {
  return as<StrictArray>(json, "a list", place);
}

const std::string& as_string(const StrictJson& json, const std::string& place) {
  return as<std::string>(json, "a string", place);
}

bool as_bool(const StrictJson& json, const std::string& place) {
  return as<bool>(json, "true or false", place);
}

double as_number(const StrictJson& json, const std::string& place) {
  if (const auto* whole = std::get_if<std::int64_t>(&json.value)) return double(*whole);
  return as<double>(json, "a number", place);
}

std::int64_t as_count(const StrictJson& json, const std::string& place) {
  if (const auto* large = std::get_if<std::uint64_t>(&json.value)) {
    throw Error(place, cat(*large, " is larger than ", std::numeric_limits<std::int64_t>::max()));
  }
  const auto value = as<std::int64_t>(json, "an integer", place);
  if (value < 0) throw Error(place, cat(value, " is negative"));
  return value;
}

std::string json_quoted(std::string_view text) {
  if (first_invalid_utf8(text) != text.npos) throw Error(shown(text), "is not valid UTF-8");
  return nlohmann::json(text).dump();
}

}  // namespace alibi
