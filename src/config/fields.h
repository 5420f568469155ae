// The one list of config keys. Reader, writer, schema, reference page and "did you mean" walk it.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "config/field.h"

namespace alibi {

struct Section {
  std::string path;  // "model", "runtime.attention"
  std::string documentation;
  std::vector<Field> fields;
  std::string pointer(const Field& field) const;  // "/runtime/attention/kernel"
};

// Every section, bound to `config`: targets point into it, `effective` is judged by its present
// values.
std::vector<Section> sections(Config& config);

// Keys and sections that had another name in earlier versions: read under both, written under the
// new one.
struct RenamedKey {
  std::string section, before, now;
};
const std::vector<RenamedKey>& renamed_keys();

}  // namespace alibi
