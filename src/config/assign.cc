#include "config/assign.h"

#include <algorithm>
#include <cmath>

#include "base/overloaded.h"
#include "base/strings.h"
#include "config/strict_json.h"

namespace alibi {
namespace {

using nlohmann::ordered_json;

std::string range_text(const Field& field, const char* kind) {
  std::string text = kind;
  const bool low = std::isfinite(field.least), high = std::isfinite(field.most);
  const auto number = [](double v) { return significant(v, 10); };
  if (low && high) return text + " from " + number(field.least) + " to " + number(field.most);
  if (low) return text + " of at least " + number(field.least);
  return high ? text + " of at most " + number(field.most) : text;
}

// Integers are written as integers: 4.0, 1e3, true and what overflows 64 bits are refused.
bool read_number(const ordered_json& value, std::int64_t& out) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return false;
  out = value.get<std::int64_t>();
  return true;
}

bool read_number(const ordered_json& value, double& out) {
  if (!value.is_number()) return false;
  out = value.get<double>();
  return std::isfinite(out);
}

template <class T>
std::string assign_number(const Field& field, const ordered_json& value, T& out) {
  T parsed{};
  const bool fits = read_number(value, parsed) && static_cast<double>(parsed) >= field.least &&
                    static_cast<double>(parsed) <= field.most;
  if (!fits) {
    return range_text(field, std::is_same_v<T, std::int64_t> ? "a whole number" : "a number");
  }
  out = parsed;
  return {};
}

template <class T>
std::string assign_optional(const Field& field, const ordered_json& value, std::optional<T>& out) {
  if (value.is_null()) {
    out.reset();
    return {};
  }
  T parsed{};
  std::string expected = assign_number(field, value, parsed);
  if (expected.empty()) out = parsed;
  return expected;
}

std::string assign_enum(const EnumTarget& target, const ordered_json& value) {
  const auto& names = target.names;
  const auto found = value.is_string()
                         ? std::find(names.begin(), names.end(), value.get<std::string>())
                         : names.end();
  if (found == names.end()) return "one of \"" + join(names, "\", \"") + "\"";
  target.set(static_cast<int>(found - names.begin()));
  return {};
}

// Stores a value that is no list, or returns what was expected instead.
std::string assign_one(const Field& field, const ordered_json& value) {
  return std::visit(
      Overloaded{
          [&](const EnumTarget& target) { return assign_enum(target, value); },
          [&](std::int64_t* out) { return assign_number(field, value, *out); },
          [&](double* out) { return assign_number(field, value, *out); },
          [&](std::optional<std::int64_t>* out) { return assign_optional(field, value, *out); },
          [&](std::optional<double>* out) { return assign_optional(field, value, *out); },
          [&](bool* out) -> std::string {
            if (!value.is_boolean()) return "true or false";
            *out = value.get<bool>();
            return {};
          },
          [&](std::string* out) -> std::string {
            if (!value.is_string()) return "a string";
            *out = value.get<std::string>();
            return {};
          },
          [](const auto*) -> std::string { return "a value that is no list"; },
      },
      field.target);
}

template <class T, class Test>
std::optional<Mismatch> assign_list(const ordered_json& value, std::vector<T>& out, Test is_item,
                                    const std::string& items) {
  if (!value.is_array()) return Mismatch{"", describe(value), "a list of " + items + "s", ""};
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!is_item(value[i])) return Mismatch{cat("/", i), describe(value[i]), "a " + items, ""};
  }
  out = value.get<std::vector<T>>();
  return std::nullopt;
}

}  // namespace

std::optional<Mismatch> assign(const Field& field, const ordered_json& value) {
  if (auto* const* strings = std::get_if<std::vector<std::string>*>(&field.target)) {
    return assign_list(
        value, **strings, [](const ordered_json& v) { return v.is_string(); }, "string");
  }
  if (auto* const* numbers = std::get_if<std::vector<double>*>(&field.target)) {
    return assign_list(
        value, **numbers, [](const ordered_json& v) { return v.is_number(); }, "number");
  }
  Mismatch wrong{"", describe(value), assign_one(field, value), ""};
  if (wrong.expected.empty()) return std::nullopt;
  const auto* choice = std::get_if<EnumTarget>(&field.target);
  if (choice != nullptr && value.is_string())
    wrong.near = nearest(value.get<std::string>(), choice->names);
  return wrong;
}

nlohmann::ordered_json field_value(const Field& field) {
  return std::visit(Overloaded{
                        [](const EnumTarget& target) -> ordered_json {
                          return target.names[static_cast<std::size_t>(target.get())];
                        },
                        [](const auto* value) -> ordered_json {
                          if constexpr (requires { value->has_value(); }) {
                            return value->has_value() ? ordered_json(**value) : ordered_json();
                          } else {
                            return *value;
                          }
                        },
                    },
                    field.target);
}

}  // namespace alibi
