#include "config/assign.h"

#include <algorithm>
#include <cmath>

#include "base/json/write.h"
#include "base/overloaded.h"
#include "base/strings.h"

namespace alibi {
namespace {

std::string range_text(const Field& field, const char* kind) {
  std::string text = kind;
  const bool low = std::isfinite(field.least), high = std::isfinite(field.most);
  const auto number = [](double v) { return significant(v, 10); };
  if (low && high) return text + " from " + number(field.least) + " to " + number(field.most);
  if (low) return text + " of at least " + number(field.least);
  return high ? text + " of at most " + number(field.most) : text;
}

// Any spelling of a whole number, as JSON Schema's "integer": 1e6 and 4.0 too, up to where a double
// holds each whole number. true and what overflows 64 bits are refused.
std::optional<std::int64_t> number_of(const Json& value, std::int64_t) {
  constexpr double kMost = 0x1p53;
  if (const auto integer = value.as_integer()) return integer;
  const auto number = value.as_number();
  const bool whole = number && std::abs(*number) <= kMost && std::trunc(*number) == *number;
  return whole ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
}

std::optional<double> number_of(const Json& value, double) { return value.as_number(); }

template <class T>
std::string assign_number(const Field& field, const Json& value, T& out) {
  const std::optional<T> number = number_of(value, out);
  const bool fits = number && static_cast<double>(*number) >= field.least &&
                    static_cast<double>(*number) <= field.most;
  if (!fits) {
    return range_text(field, std::is_same_v<T, std::int64_t> ? "a whole number" : "a number");
  }
  out = *number;
  return {};
}

template <class T>
std::string assign_optional(const Field& field, const Json& value, std::optional<T>& out) {
  if (value.is_null()) {
    out.reset();
    return {};
  }
  T parsed{};
  std::string expected = assign_number(field, value, parsed);
  if (expected.empty()) out = parsed;
  return expected;
}

std::string assign_enum(const EnumTarget& target, const Json& value) {
  const auto& names = target.names;
  const auto found = value.is_string() ? std::ranges::find(names, *value.as_string()) : names.end();
  if (found == names.end()) return "one of \"" + join(names, "\", \"") + "\"";
  target.set(static_cast<int>(found - names.begin()));
  return {};
}

// Stores a value that is no list, or returns what was expected instead.
std::string assign_one(const Field& field, const Json& value) {
  return std::visit(
      Overloaded{
          [&](const EnumTarget& target) { return assign_enum(target, value); },
          [&](std::int64_t* out) { return assign_number(field, value, *out); },
          [&](double* out) { return assign_number(field, value, *out); },
          [&](std::optional<std::int64_t>* out) { return assign_optional(field, value, *out); },
          [&](std::optional<double>* out) { return assign_optional(field, value, *out); },
          [&](bool* out) -> std::string {
            if (!value.is_bool()) return "true or false";
            *out = *value.as_bool();
            return {};
          },
          [&](std::string* out) -> std::string {
            if (!value.is_string()) return "a string";
            *out = *value.as_string();
            return {};
          },
          [](const auto*) -> std::string { return "a value that is no list"; },
      },
      field.target);
}

// `read` gives an item's value, or nullptr or nothing.
template <class T, class Read>
std::optional<Mismatch> assign_list(const Json& value, std::vector<T>& out, Read read,
                                    const std::string& items) {
  if (!value.is_list())
    return Mismatch{"", describe(value), "a list of " + items + "s, in brackets", ""};
  std::vector<T> parsed;
  for (const Json& item : *value.as_list()) {
    const auto one = read(item);
    if (!one) return Mismatch{cat("/", parsed.size()), describe(item), "a " + items, ""};
    parsed.push_back(*one);
  }
  out = std::move(parsed);
  return std::nullopt;
}

}  // namespace

std::optional<Mismatch> assign(const Field& field, const Json& value) {
  if (auto* const* strings = std::get_if<std::vector<std::string>*>(&field.target)) {
    return assign_list(
        value, **strings, [](const Json& item) { return item.as_string(); }, "string");
  }
  if (auto* const* numbers = std::get_if<std::vector<double>*>(&field.target)) {
    return assign_list(
        value, **numbers, [](const Json& item) { return item.as_number(); }, "number");
  }
  Mismatch wrong{"", describe(value), assign_one(field, value), ""};
  if (wrong.expected.empty()) return std::nullopt;
  const auto* choice = std::get_if<EnumTarget>(&field.target);
  if (choice != nullptr && value.is_string())
    wrong.near = nearest(*value.as_string(), choice->names);
  return wrong;
}

Json field_value(const Field& field) {
  return std::visit(Overloaded{
                        [](const EnumTarget& target) -> Json {
                          return target.names[static_cast<std::size_t>(target.get())];
                        },
                        [](const auto* value) -> Json {
                          if constexpr (requires { value->has_value(); }) {
                            return value->has_value() ? Json(**value) : Json();
                          } else {
                            return *value;
                          }
                        },
                    },
                    field.target);
}

}  // namespace alibi
