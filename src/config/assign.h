// One JSON value into one field: strict types, ranges and names.
#pragma once

#include <optional>
#include <string>

#include "base/json/parse.h"
#include "config/fields.h"

namespace alibi {

// What is JSON in configs and in values of --set.
inline constexpr JsonOptions kConfigJson{.depth = 32, .comments = true, .any_value = true};

// Why a value does not fit its field.
struct Mismatch {
  std::string item;      // "/3": which item of a list; else empty
  std::string found;     // "the value" as describe() names it
  std::string expected;  // "a whole number from 1 to 1024"
  std::string near;      // the name that was perhaps meant; may be empty
};

// Stores `value` in the field's target; on a mismatch nothing is stored.
std::optional<Mismatch> assign(const Field& field, const Json& value);

// The value it holds; null: an optional one without.
Json field_value(const Field& field);

}  // namespace alibi
