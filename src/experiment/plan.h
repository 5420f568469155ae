// Which runs a comparison consists of. Everything that can be wrong is found here, before any
// training starts.
#pragma once

#include <filesystem>
#include <string_view>

#include "config/comparison.h"

namespace alibi {

struct PlannedRun {
  std::size_t variant;  // index
  std::int64_t seed;
  // "ntk-seed0-1f2e3d4c": variant and seed; the last part is a hash of all that decides training,
  // its end and what a step costs.
  std::string name;
  std::string trained;  // the same of the variant that trains it: "rotary-seed0-1f2e3d4c"
  std::string source;   // the same of the run whose weights it starts from; empty: of none here
  Config config;        // its run.folder is FOLDER/runs/TRAINED
  bool cuda = false;    // where it would be trained and measured
};

struct ScoredText {
  std::string hash;                         // of the tokens that are scored
  std::string prompts;                      // TextSample::prompts_hash()
  std::int64_t available = 0, targets = 0;  // tokens of all of the held-out text, and scored
};

struct PlannedVariant {
  std::string name, changes;
  Config config;  // of the first seed
  ScoredText text;
  std::string data_hash;  // of tokenizer and tokens
  std::string tokenizer_hash;
};

struct PlannedTask {
  std::string name;
  std::vector<std::string> overrides;  // of a run's stored config
  std::vector<std::int64_t> lengths;   // of all variants together
  bool reads_text = false;             // the held-out text, beside what it makes itself
};

struct ExperimentPlan {
  ComparisonFile file;
  std::filesystem::path folder;
  std::vector<PlannedVariant> variants;
  std::vector<PlannedRun> runs;       // seed by seed: what is stopped early has compared something
  std::vector<std::int64_t> lengths;  // of all variants together
  std::vector<PlannedTask> tasks;
  bool one_tokenizer = true;  // else only bits per byte can be compared
};

std::string lengths_text(const std::vector<std::int64_t>& lengths, std::string_view separator);

// Prepares the text (which is kept), so that the data hashes are known and the held-out text is
// long enough. Throws Error, with exit code 2 for faults of the file and the configs.
ExperimentPlan plan_experiment(const ComparisonFile& file,
                               const std::vector<std::string>& overrides);

}  // namespace alibi
