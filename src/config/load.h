// JSON in, validated Config out, and back. Every fault of every file is found before anything
// throws.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace alibi {

// A part of a config that stands in another file: the text of a JSON object and where it stands.
struct ConfigFragment {
  std::string text, place;
};

// Merges `files` left to right, then `fragments`, then `overrides` ("model.heads=4": dots; the
// value is JSON, else a string), validates and resolves. Comments are allowed in files. Throws
// Error (exit code 2) with one line per fault: file, JSON pointer, what was found, what was
// expected.
Config load_config(const std::vector<std::string>& files, const std::vector<std::string>& overrides,
                   const std::vector<ConfigFragment>& fragments = {});

// The same from text: what a run or checkpoint stored, with overrides on top. `place` names it.
// Stored keys of evaluation that the overrides leave without effect go back to their defaults.
Config parse_config(const std::string& text, const std::string& place,
                    const std::vector<std::string>& overrides = {});

// The config of a run of so many tokens. Throws Error (exit code 2) where they are too few for
// schedule.warmup_tokens.
Config with_train_tokens(const Config& config, std::int64_t tokens);

// Refuses overrides of keys that are not `allowed` ("evaluate", "runtime.threads"), in either form:
// model.heads=4 or model={"heads": 4}. Throws Error (exit code 2): "--set model.heads=4:
// `problem`". Sections that do not exist are load_config's to refuse.
void allow_overrides(const std::vector<std::string>& overrides,
                     const std::vector<std::string>& allowed, const std::string& problem);

// Whether one of the overrides sets `key` ("runtime.device"), in either form.
bool names_key(const std::vector<std::string>& overrides, const std::string& key);

// Pretty JSON of every key that has an effect; parse_config reads it back to an equal Config.
std::string config_json(const Config& config);

// Compact JSON of the keys that change a result: equal text means equal run on equal data.
std::string identity_json(const Config& config);

// Identity keys in which two configs differ, with both values as JSON ("(absent)": no effect
// there).
struct ConfigDifference {
  std::string pointer, first, second;
  bool adjustable = false;  // a resumed run may change it
};
std::vector<ConfigDifference> identity_differences(const Config& first, const Config& second);
std::vector<ConfigDifference> config_differences(const Config& first, const Config& second);  // all

std::string config_schema();      // JSON Schema (draft 2020-12) for editors
std::string comparison_schema();  // the same of files for alibi compare (config/comparison.h)
std::string config_reference();   // Markdown: every key with default, range and meaning

}  // namespace alibi
