// One config key: where its value lies, what it may be, what it means.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/enum_names.h"

namespace alibi {

// An enum field, by the index of its name.
struct EnumTarget {
  std::vector<std::string> names;
  std::function<int()> get;
  std::function<void(int)> set;
};

using FieldTarget =
    std::variant<std::int64_t*, std::optional<std::int64_t>*, double*, std::optional<double>*,
                 bool*, std::string*, std::vector<std::string>*, std::vector<double>*, EnumTarget>;

struct Field {
  std::string name;
  FieldTarget target;
  std::string documentation;
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool identity = true;         // false: changes how a run is made, not what it computes
  bool counts = true;           // false: its value is what runs had before the key was there
  bool adjustable = false;      // identity, yet a resumed run may change it from its step on
  bool effective = true;        // false: under this config the key does nothing
  std::string condition;        // when it is effective, naming each key it reads; empty: always
  std::vector<double> choices;  // the only numbers allowed; empty: any in range
  std::string choice_text;      // the same for people

  Field& range(double low, double high = std::numeric_limits<double>::infinity());
  Field& one_of(std::vector<double> numbers, std::string text);
  Field& free();
  Field& may_change();           // on resume
  Field& counts_if(bool holds);  // as part of a run's identity
  Field& only_if(bool holds, std::string text);
};

using Fields = std::vector<Field>;

template <class Target>
Field& add(Fields& fields, const char* name, Target target, const char* documentation) {
  Field& field = fields.emplace_back();
  field.name = name;
  field.target = std::move(target);
  field.documentation = documentation;
  return field;
}

template <NamedEnum Enum>
EnumTarget choice(Enum& value) {
  return {all_names<Enum>(), [&value] { return static_cast<int>(value); },
          [&value](int index) { value = static_cast<Enum>(index); }};
}

}  // namespace alibi
