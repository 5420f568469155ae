#include "base/json/reader.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/json/write.h"

namespace alibi {
namespace {

template <class T>
const T& present(const T* value, const JsonReader& reader, const char* what) {
  if (value == nullptr) reader.expected(what);
  return *value;
}

}  // namespace

JsonReader::JsonReader(const Json& json, std::string place)
    : JsonReader(json, std::move(place), true) {}

JsonReader::JsonReader(const Json& json, std::string place, bool is_root)
    : json_(&json), place_(std::move(place)), is_root_(is_root) {}

JsonReader JsonReader::child(const Json& json, std::string_view key) const {
  return {json, place_of(key), false};
}

std::string JsonReader::place_of(std::string_view key) const {
  return place_ + (is_root_ ? ": /" : "/") + pointer_part(key);
}

void JsonReader::fail(const std::string& problem, const std::string& way_out) const {
  throw Error(place_, problem, way_out);
}

void JsonReader::expected(const std::string& what, const std::string& way_out) const {
  fail("found " + describe(*json_) + ", expected " + what, way_out);
}

std::int64_t JsonReader::count() const {
  const auto value = json_->as_integer();
  if (!value || *value < 0) expected("a whole number from 0 to 9223372036854775807");
  return *value;
}

double JsonReader::number() const {
  const auto value = json_->as_number();
  if (!value) expected("a number");
  return *value;
}

bool JsonReader::flag() const {
  const auto value = json_->as_bool();
  if (!value) expected("true or false");
  return *value;
}

const std::string& JsonReader::text() const {
  return present(json_->as_string(), *this, "a string");
}

const JsonList& JsonReader::list() const { return present(json_->as_list(), *this, "a list"); }

const JsonObject& JsonReader::object() const {
  return present(json_->as_object(), *this, "an object");
}

std::vector<JsonReader> JsonReader::items() const {
  std::vector<JsonReader> all;
  for (const Json& item : list()) all.push_back(child(item, std::to_string(all.size())));
  return all;
}

std::vector<std::pair<std::string_view, JsonReader>> JsonReader::members() const {
  std::vector<std::pair<std::string_view, JsonReader>> all;
  for (const JsonMember& member : object())
    all.emplace_back(member.key, child(member.value, member.key));
  return all;
}

JsonReader JsonReader::at(std::string_view key) const {
  object();
  const Json* member = json_->find(key);
  if (member == nullptr) throw Error(place_of(key), "is missing");
  return child(*member, key);
}

std::optional<JsonReader> JsonReader::find(std::string_view key) const {
  object();
  const Json* member = json_->find(key);
  if (member == nullptr || member->is_null()) return std::nullopt;
  return child(*member, key);
}

double JsonReader::number(std::string_view key, double usual) const {
  const auto member = find(key);
  return member ? member->number() : usual;
}

bool JsonReader::flag(std::string_view key, bool usual) const {
  const auto member = find(key);
  return member ? member->flag() : usual;
}

std::string JsonReader::text(std::string_view key, const std::string& usual) const {
  const auto member = find(key);
  return member ? member->text() : usual;
}

JsonReader JsonReader::object_or_empty(std::string_view key) const {
  static const Json empty = Json::object();
  const auto member = find(key);
  if (member) member->object();
  return member ? *member : child(empty, key);
}

void JsonReader::expect(std::string_view key, const Json& value, const std::string& way_out) const {
  const JsonReader member = at(key);
  const bool same = member.json() == value && member.json().is_integer() == value.is_integer();
  if (!same) member.expected(describe(value), way_out);
}

void JsonReader::refuse_unknown(std::initializer_list<std::string_view> known) const {
  for (const JsonMember& member : object()) {
    if (std::ranges::find(known, member.key) == known.end())
      throw Error(place_of(member.key), "unknown key");
  }
}

}  // namespace alibi
