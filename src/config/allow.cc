// Which keys may be overridden where only some have an effect.
#include <algorithm>

#include "base/error.h"
#include "base/strings.h"
#include "config/fields.h"
#include "config/load.h"

namespace alibi {
namespace {

// One key lies inside the other: "runtime" and "runtime.threads".
bool nested(const std::string& a, const std::string& b) {
  return a == b || a.starts_with(b + ".") || b.starts_with(a + ".");
}

}  // namespace

void allow_overrides(const std::vector<std::string>& overrides,
                     const std::vector<std::string>& allowed, const std::string& problem) {
  Config any;
  const std::vector<Section> all = sections(any);
  std::vector<std::string> words;
  for (const std::string& key : allowed)
    words.push_back(key.find('.') == std::string::npos ? key + ".*" : key);
  for (const std::string& change : overrides) {
    const std::string path = change.substr(0, change.find('='));
    const std::string first = path.substr(0, path.find('.'));
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const Section& s) { return s.path == first; });
    const bool fine = std::any_of(allowed.begin(), allowed.end(),
                                  [&](const std::string& key) { return nested(path, key); });
    if (!known || fine) continue;
    throw usage_error("--set " + change, problem,
                      "only " + join(words, " and ") + " keys may be set here");
  }
}

}  // namespace alibi
