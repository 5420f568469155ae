// Bad configs made from the list of keys: every key misspelled, of every wrong type, and out of its
// range on either side.
#pragma once

#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "base/strings.h"
#include "config/fields.h"

namespace alibi {

struct GeneratedBadConfig {
  std::string text;                 // the file
  std::string pointer;              // what its one line must name
  std::vector<std::string> values;  // and these: what was found, or the nearest key
};

namespace generated {

// {"runtime": {"attention": {"kernel": 5}}}
inline std::string nested(const std::string& section, const std::string& key,
                          const std::string& value) {
  const std::string inner = "{\"" + key + "\": " + value + "}";
  const std::size_t dot = section.find('.');
  if (dot == std::string::npos) return "{\"" + section + "\": " + inner + "}";
  return "{\"" + section.substr(0, dot) + "\": {\"" + section.substr(dot + 1) + "\": " + inner +
         "}}";
}

template <class... Types>
bool holds(const Field& field) {
  return (std::holds_alternative<Types>(field.target) || ...);
}

inline bool is_whole(const Field& field) {
  return holds<std::int64_t*, std::optional<std::int64_t>*>(field);
}
inline bool is_number(const Field& field) {
  return is_whole(field) || holds<double*, std::optional<double>*>(field);
}

inline std::vector<std::string> wrong_values(const Field& field) {
  if (is_number(field)) return {"\"seven\"", "true", "[1]", "{}"};
  if (holds<bool*>(field)) return {"1", "\"true\"", "[]"};
  if (holds<std::string*>(field)) return {"5", "false", "[]"};
  if (holds<EnumTarget>(field)) return {"5", "\"nonsense\"", "{}"};
  return {"5", "\"x\"", "{}"};
}

inline std::vector<std::string> values_out_of_range(const Field& field) {
  std::vector<std::string> values;
  if (is_whole(field)) values.push_back("1.5");
  const auto written = [&](double number) {
    return is_whole(field) ? cat(static_cast<std::int64_t>(number)) : significant(number, 10);
  };
  if (std::isfinite(field.least)) values.push_back(written(field.least - 1));
  if (std::isfinite(field.most) && field.most < 1e18) values.push_back(written(field.most + 1));
  return values;
}

// A list or an object is not shown.
inline std::vector<std::string> shown_values(const std::string& value) {
  return value.front() == '[' || value.front() == '{' ? std::vector<std::string>()
                                                      : std::vector{value};
}

}  // namespace generated

inline std::vector<GeneratedBadConfig> generated_bad_configs() {
  std::vector<GeneratedBadConfig> all;
  Config config;
  for (const Section& section : sections(config)) {
    for (const Field& field : section.fields) {
      const std::string pointer = section.pointer(field);
      const std::string misspelled = field.name + "s";
      all.push_back(
          {generated::nested(section.path, misspelled, "1"), pointer + "s", {field.name}});
      if (!field.effective) continue;  // then that is its fault
      for (const std::string& value : generated::wrong_values(field))
        all.push_back({generated::nested(section.path, field.name, value), pointer,
                       generated::shown_values(value)});
      if (!generated::is_number(field)) continue;
      for (const std::string& value : generated::values_out_of_range(field))
        all.push_back({generated::nested(section.path, field.name, value), pointer,
                       generated::shown_values(value)});
    }
  }
  return all;
}

}  // namespace alibi
