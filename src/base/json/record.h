// Structs that are written to JSON and read back by one list of their fields.
//
//   template <class Fields>
//   void fields(Fields& f, Usage& u) {          // beside the struct; found by its type
//     f.format({.kind = "usage", .newest = 2});  // format_version and kind, where it is a file
//     f("seconds", u.seconds);
//     f("peak_memory_bytes", u.peak_memory_bytes, {.since = 2});
//   }
//   const std::string text = write_json(to_json(usage));
//   const Usage usage = read_record<Usage>(JsonReader(json, place));
//
// A field is a bool, an integer (a count: 0 or more), a double (null: not a number, as for what was
// not measured), a std::string, an enumerator that has names (base/enum_names.h), another record,
// or a std::vector or std::optional of these. Beside f(name, value):
//   f.format(...)                    the head of a file
//   f.derived(name, [&] { ... })     written from other fields; what a file says there is not read
//   f.or_null(name, record, there)   null where it is not `there`; null leaves it as it is
//   f.or_absent(name, value, there)  not written where it is not `there`; absent leaves it as it is
#pragma once

#include <algorithm>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/enum_names.h"
#include "base/json/reader.h"
#include "base/json/value.h"
#include "base/strings.h"

namespace alibi {

struct FormatRule {
  const char* kind = nullptr;  // the member "kind"; nullptr: the file has none
  std::int64_t newest = 1;     // what is written
  std::int64_t oldest = newest;
  const char* way_out = "use the program version that wrote it";
};

struct FieldRule {
  std::int64_t since = 1;  // files of older formats lack it: the struct's default stays
  double null = std::numeric_limits<double>::quiet_NaN();  // the double that null stands for
  bool hyphens = false;  // older files have '-' for '_' in the names of enumerators
  bool words = false;    // a double may be "nan", "inf" or "-inf" (JsonStyle::NotFinite::kWord)
};

enum class UnknownKeys { kRefuse, kIgnore };

// A visitor that does nothing: what it may visit is a record.
struct NoFields {
  template <class T>
  void operator()(std::string_view, T&, const FieldRule& = {}) {}
  template <class Make>
  void derived(std::string_view, const Make&) {}
  template <class T>
  void or_null(std::string_view, T&, bool) {}
  template <class T>
  void or_absent(std::string_view, T&, bool) {}
  void format(const FormatRule&) {}
};

template <class T>
concept Record = requires(NoFields& f, T& record) {
  fields(f, record);
};

// --- writing ---

template <class T>
Json to_json(const T& value);

class RecordWriter {
 public:
  void format(const FormatRule& rule);
  template <class T>
  void operator()(std::string_view name, const T& value, const FieldRule& = {}) {
    add(name, to_json(value));
  }
  template <class Make>
  void derived(std::string_view name, const Make& make) {
    add(name, to_json(make()));
  }
  template <class T>
  void or_null(std::string_view name, const T& record, bool there) {
    add(name, there ? to_json(record) : Json());
  }
  template <class T>
  void or_absent(std::string_view name, const T& value, bool there) {
    if (there) add(name, to_json(value));
  }
  Json take() { return std::move(json_); }

 private:
  void add(std::string_view name, Json value);

  Json json_ = Json::object();
};

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

// A record, or anything else that a field may be.
template <class T>
Json to_json(const T& value) {
  if constexpr (std::same_as<T, Json>) {
    return value;
  } else if constexpr (NamedEnum<T>) {
    return name_of(value);
  } else if constexpr (IsOptional<T>::value) {
    return value ? to_json(*value) : Json();
  } else if constexpr (IsVector<T>::value) {
    Json list = Json::list();
    for (const auto& item : value) list.push_back(to_json(item));
    return list;
  } else if constexpr (Record<T>) {
    RecordWriter writer;
    fields(writer, const_cast<T&>(value));  // one list for both ways; a writer changes nothing
    return writer.take();
  } else {
    return Json(value);
  }
}

// --- reading ---

double number_or_word(const JsonReader& json);  // "nan", "inf" and "-inf" are those numbers

class RecordReader {
 public:
  // `version`: of the format of the file that the object is a part of.
  RecordReader(const JsonReader& object, UnknownKeys unknown, std::int64_t version)
      : object_(object), unknown_(unknown), version_(version) {}

  void format(const FormatRule& rule);
  template <class T>
  void operator()(std::string_view name, T& value, const FieldRule& rule = {});
  template <class Make>
  void derived(std::string_view name, const Make&) {
    known_.emplace_back(name);
  }
  template <class T>
  void or_null(std::string_view name, T& record, bool /*there*/) {
    known_.emplace_back(name);
    if (!object_.at(name).json().is_null()) read(object_.at(name), record, {});
  }
  template <class T>
  void or_absent(std::string_view name, T& value, bool /*there*/) {
    known_.emplace_back(name);
    if (object_.json().find(name) != nullptr) read(object_.at(name), value, {});
  }

  std::int64_t version() const { return version_; }
  void check_keys() const;  // refuses keys that no field has named, where they are refused

 private:
  template <class T>
  void read(const JsonReader& json, T& value, const FieldRule& rule) const;

  const JsonReader& object_;
  UnknownKeys unknown_;
  std::int64_t version_;
  std::vector<std::string> known_;
};

// Throws Error at the place of the fault. A field that the file lacks is one, but for those of
// newer formats. Returns the version of its format, if it has one.
template <Record T>
std::int64_t read_record(const JsonReader& object, T& record,
                         UnknownKeys unknown = UnknownKeys::kIgnore, std::int64_t version = 1) {
  RecordReader reader(object, unknown, version);
  fields(reader, record);
  reader.check_keys();
  return reader.version();
}

template <Record T>
T read_record(const JsonReader& object, UnknownKeys unknown = UnknownKeys::kIgnore) {
  T record;
  read_record(object, record, unknown);
  return record;
}

template <class T>
void RecordReader::operator()(std::string_view name, T& value, const FieldRule& rule) {
  known_.emplace_back(name);
  if (version_ >= rule.since) read(object_.at(name), value, rule);
}

template <class T>
void RecordReader::read(const JsonReader& json, T& value, const FieldRule& rule) const {
  if constexpr (std::same_as<T, bool>) {
    value = json.flag();
  } else if constexpr (std::integral<T>) {
    if (std::cmp_greater(json.count(), std::numeric_limits<T>::max()))
      json.expected("a smaller whole number");
    value = static_cast<T>(json.count());
  } else if constexpr (std::same_as<T, double>) {
    value = json.json().is_null() ? rule.null : rule.words ? number_or_word(json) : json.number();
  } else if constexpr (std::same_as<T, std::string>) {
    value = json.text();
  } else if constexpr (std::same_as<T, Json>) {
    value = json.json();
  } else if constexpr (NamedEnum<T>) {
    std::string name = json.text();
    if (rule.hyphens) std::ranges::replace(name, '-', '_');
    const auto found = find_enum<T>(name);
    if (!found) json.expected("one of \"" + join(all_names<T>(), "\", \"") + "\"");
    value = *found;
  } else if constexpr (IsOptional<T>::value) {
    value.reset();
    if (!json.json().is_null()) read(json, value.emplace(), rule);
  } else if constexpr (IsVector<T>::value) {
    value.clear();
    for (const JsonReader& item : json.items()) {
      if (item.json().is_null()) item.fail("found null, expected a value");
      read(item, value.emplace_back(), rule);
    }
  } else {
    read_record(json, value, unknown_, version_);
  }
}

}  // namespace alibi
