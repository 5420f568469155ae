// The one list of config keys. Reader, writer, schema, reference page and "did you mean" walk it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/config.h"

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
  bool adjustable = false;      // identity, yet a resumed run may change it from its step on
  bool effective = true;        // false: under this config the key does nothing
  std::string condition;        // when it is effective, naming each key it reads; empty: always
  std::vector<double> choices;  // the only numbers allowed; empty: any in range
  std::string choice_words;     // the same for people

  Field& range(double low, double high = std::numeric_limits<double>::infinity());
  Field& one_of(std::vector<double> numbers, std::string words);
  Field& free();
  Field& may_change();  // on resume
  Field& only_if(bool holds, std::string words);
};

struct Section {
  std::string path;  // "model", "runtime.attention"
  std::string documentation;
  std::vector<Field> fields;
  std::string pointer(const Field& field) const;  // "/runtime/attention/kernel"
};

// Every section, bound to `config`: targets point into it, `effective` is judged by its present
// values.
std::vector<Section> sections(Config& config);

}  // namespace alibi
