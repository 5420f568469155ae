// A JSON value: light to include, easy to build, keys in the order in which they were added.
//
//   Json config = {{"model_type", "mpt"}, {"heads", 8}, {"slopes", Json::list({0.5, 0.25})}};
//   config["attention"] = {{"alibi", true}, {"clip", nullptr}};
//
// Braces around pairs make an object; lists are made by Json::list or of a std::vector.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace alibi {

class Json;
struct JsonMember;
using JsonList = std::vector<Json>;
using JsonObject = std::vector<JsonMember>;  // every key once

class Json {
 public:
  Json();  // null
  // Defined below: a variant of members needs JsonMember whole.
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();
  Json(std::nullptr_t);
  Json(const char* text);
  Json(std::string text);
  Json(std::string_view text);
  Json(std::initializer_list<JsonMember> members);
  template <std::same_as<bool> T>
  Json(T truth);
  template <std::floating_point T>
  Json(T number);
  template <std::integral T>
  requires(!std::same_as<T, bool> && !std::same_as<T, char>) Json(T number);
  template <std::convertible_to<Json> T>
  Json(const std::vector<T>& items);

  static Json object();  // empty
  static Json list(std::initializer_list<Json> items = {});
  static Json list(JsonList items);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const;  // of 64 bits, with a sign or without
  bool is_number() const;   // integers too
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_list() const { return std::holds_alternative<JsonList>(value_); }
  bool is_object() const { return std::holds_alternative<JsonObject>(value_); }

  // The value as that type and no other, or nothing. 1.0 and true are no integers; an integer above
  // 2^63 - 1 is none either, but is a number.
  std::optional<bool> as_bool() const;
  std::optional<std::int64_t> as_integer() const;
  std::optional<double> as_number() const;
  const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  const JsonList* as_list() const { return std::get_if<JsonList>(&value_); }
  const JsonObject* as_object() const { return std::get_if<JsonObject>(&value_); }
  JsonList* as_list() { return std::get_if<JsonList>(&value_); }
  JsonObject* as_object() { return std::get_if<JsonObject>(&value_); }

  std::size_t size() const;  // items or members; 0 for any other value
  bool empty() const { return size() == 0; }

  // nullptr: not there, or this is no object. Takes time in proportion to the number of members.
  const Json* find(std::string_view key) const;
  Json* find(std::string_view key);
  // The member of that key, added as null where it is missing. This must be an object or null.
  Json& operator[](std::string_view key);
  void append(std::string key, Json value);  // a key that is not there yet, which nothing checks
  void erase(std::string_view key);          // where it is there
  // Members of `other` replace those of the same key, and are added behind the others.
  void update(Json other);
  void push_back(Json item);  // this must be a list or null

  // Calls `visit` with the value as it is held: std::monostate for null, bool, std::int64_t,
  // std::uint64_t (only above the range of std::int64_t), double, std::string, JsonList,
  // JsonObject.
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    return std::visit(std::forward<Visitor>(visitor), value_);
  }

  // Objects are equal whatever the order of their keys, numbers by their value: 1 == 1.0.
  friend bool operator==(const Json& a, const Json& b);

 private:
  void set_unsigned(std::uint64_t number);

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, JsonList,
               JsonObject>
      value_;
};

struct JsonMember {
  std::string key;
  Json value;
  bool operator==(const JsonMember&) const = default;
};

inline Json::Json() = default;
inline Json::Json(const Json& other) = default;
inline Json::Json(Json&& other) noexcept = default;
inline Json& Json::operator=(const Json& other) = default;
inline Json& Json::operator=(Json&& other) noexcept = default;
inline Json::~Json() = default;

template <std::same_as<bool> T>
Json::Json(T truth) : value_(truth) {}

template <std::floating_point T>
Json::Json(T number) : value_(static_cast<double>(number)) {}

template <std::integral T>
requires(!std::same_as<T, bool> && !std::same_as<T, char>) Json::Json(T number) {
  if constexpr (std::unsigned_integral<T>) {
    set_unsigned(number);
  } else {
    value_ = static_cast<std::int64_t>(number);
  }
}

template <std::convertible_to<Json> T>
Json::Json(const std::vector<T>& items) : value_(JsonList(items.begin(), items.end())) {}

// A key as a part of a JSON pointer (RFC 6901), for messages: "~" and "/" escaped, printable and at
// most 80 bytes.
std::string pointer_part(std::string_view key);

}  // namespace alibi
