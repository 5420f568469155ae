#include "base/json/value.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/printable.h"

namespace alibi {
namespace {

constexpr auto kLargestSigned =
    static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

std::vector<const JsonMember*> by_key(const JsonObject& object) {
  std::vector<const JsonMember*> members;
  for (const JsonMember& member : object) members.push_back(&member);
  std::ranges::sort(members, {},
                    [](const JsonMember* member) -> std::string_view { return member->key; });
  return members;
}

bool same_members(const JsonObject& a, const JsonObject& b) {
  return std::ranges::equal(by_key(a), by_key(b), [](const JsonMember* x, const JsonMember* y) {
    return x->key == y->key && x->value == y->value;
  });
}

}  // namespace

Json::Json(std::nullptr_t) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(std::initializer_list<JsonMember> members) : value_(JsonObject(members)) {}

Json Json::object() {
  Json json;
  json.value_ = JsonObject();
  return json;
}

Json Json::list(std::initializer_list<Json> items) { return list(JsonList(items)); }

Json Json::list(JsonList items) {
  Json json;
  json.value_ = std::move(items);
  return json;
}

void Json::set_unsigned(std::uint64_t number) {
  if (number > kLargestSigned) {
    value_ = number;
  } else {
    value_ = static_cast<std::int64_t>(number);
  }
}

bool Json::is_integer() const {
  return std::holds_alternative<std::int64_t>(value_) ||
         std::holds_alternative<std::uint64_t>(value_);
}

bool Json::is_number() const { return is_integer() || std::holds_alternative<double>(value_); }

std::optional<bool> Json::as_bool() const {
  const bool* truth = std::get_if<bool>(&value_);
  return truth == nullptr ? std::nullopt : std::optional(*truth);
}

std::optional<std::int64_t> Json::as_integer() const {
  const auto* number = std::get_if<std::int64_t>(&value_);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<double> Json::as_number() const {
  if (const auto* number = std::get_if<double>(&value_)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*number);
  return std::nullopt;
}

std::size_t Json::size() const {
  if (const JsonList* list = as_list()) return list->size();
  const JsonObject* object = as_object();
  return object == nullptr ? 0 : object->size();
}

const Json* Json::find(std::string_view key) const {
  const JsonObject* object = as_object();
  if (object == nullptr) return nullptr;
  const auto member = std::ranges::find(*object, key, &JsonMember::key);
  return member == object->end() ? nullptr : &member->value;
}

Json* Json::find(std::string_view key) {
  return const_cast<Json*>(static_cast<const Json*>(this)->find(key));
}

Json& Json::operator[](std::string_view key) {
  if (Json* value = find(key)) return *value;
  append(std::string(key), Json());
  return as_object()->back().value;
}

void Json::append(std::string key, Json value) {
  if (is_null()) value_ = JsonObject();
  ensure(is_object(), "only an object has members");
  as_object()->push_back({std::move(key), std::move(value)});
}

void Json::erase(std::string_view key) {
  if (JsonObject* object = as_object())
    std::erase_if(*object, [&](const JsonMember& member) { return member.key == key; });
}

void Json::update(Json other) {
  ensure(other.is_object(), "an object is updated from an object");
  for (JsonMember& member : *other.as_object()) (*this)[member.key] = std::move(member.value);
}

void Json::push_back(Json item) {
  if (is_null()) value_ = JsonList();
  ensure(is_list(), "only a list has items");
  as_list()->push_back(std::move(item));
}

bool operator==(const Json& a, const Json& b) {
  if (a.is_object() && b.is_object()) return same_members(*a.as_object(), *b.as_object());
  const bool one_is_double = a.is_integer() != b.is_integer();
  if (one_is_double && a.is_number() && b.is_number()) return a.as_number() == b.as_number();
  return a.value_ == b.value_;
}

std::string pointer_part(std::string_view key) {
  std::string text;
  for (const char c : printable(key, 80))
    text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return text;
}

}  // namespace alibi
