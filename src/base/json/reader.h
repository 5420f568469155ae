// A parsed value with the place it came from: types and names are checked where they are asked for.
// Every fault is an Error "file: /json/pointer: found ..., expected ...".
//
//   const Json json = parse_json(read_file(path), path.string());
//   const JsonReader root(json, path.string());
//   for (const JsonReader& file : root.at("files").items()) use(file.at("name").text());
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json/value.h"

namespace alibi {

class JsonReader {
 public:
  // A whole file, or what `place` names. `json` outlives the reader and those made of it.
  JsonReader(const Json& json, std::string place);

  const Json& json() const { return *json_; }
  const std::string& place() const { return place_; }  // "file: /model/vocab"
  std::string place_of(std::string_view key) const;    // "file: /model/vocab/a"
  [[noreturn]] void fail(const std::string& problem, const std::string& way_out = {}) const;
  [[noreturn]] void expected(const std::string& what, const std::string& way_out = {}) const;

  // The value as that type and no other: 1.0 and true are no integers.
  std::int64_t count() const;  // 0 .. 2^63 - 1
  double number() const;       // integers too
  bool flag() const;
  const std::string& text() const;
  const JsonList& list() const;
  const JsonObject& object() const;

  // Of a list, of an object.
  std::vector<JsonReader> items() const;
  std::vector<std::pair<std::string_view, JsonReader>> members() const;

  // A member of an object: one that must be there, one that may be absent or null. Takes time
  // in proportion to the number of members.
  JsonReader at(std::string_view key) const;
  std::optional<JsonReader> find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key).has_value(); }
  // The member's value, or `usual` where it is absent or null.
  double number(std::string_view key, double usual) const;
  bool flag(std::string_view key, bool usual) const;
  std::string text(std::string_view key, const std::string& usual) const;
  JsonReader object_or_empty(std::string_view key) const;
  // A member that must be this.
  void expect(std::string_view key, const Json& value, const std::string& way_out = {}) const;
  void refuse_unknown(std::initializer_list<std::string_view> known) const;

 private:
  JsonReader(const Json& json, std::string place, bool is_root);
  JsonReader child(const Json& json, std::string_view key) const;

  const Json* json_;
  std::string place_;
  bool is_root_;
};

}  // namespace alibi
