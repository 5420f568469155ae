// The file of `alibi compare`: which variants of a run are trained, on which seeds.
//
//   {"name": "positions",                       // default: the file's name without .json
//    "title": "Position methods",               // of the page; default: made of the variants
//    "folder": "runs/compare/positions",        // default: runs/compare/NAME
//    "measured": "results/positions",           // where figures of runs are kept, and taken from
//                                               // before anything is trained; default:
//                                               // FOLDER/measured
//    "any_device": true,                        // take what another kind of device trained, too;
//                                               // times are then of no one device; default: false
//    "base": ["configs/quickstart.json"],       // config files, merged left to right; or one name
//    "config": {"run": {"train_tokens": 1000000}},  // changes for all variants
//    "variants": {"alibi": {}, "sinusoidal": {"model": {"position": "sinusoidal"}}},
//                                               // {"initialize": {"from": "variants/alibi"}}: goes
//                                               // on from alibi's run of the same seed
//    "seeds": [0, 1, 2],
//    "reference": "alibi",                      // others are compared with it; default: the first
//    "text": ["held-out.txt"],                  // default: what the runs held out
//    "tasks": {"recall": {"lengths": ["1x", "4x"], "answers": {"trials": 100}}}}
//                                               // asked of every run, too: evaluate.task, or any
//                                               // name with a "task", and keys of "evaluate" that
//                                               // differ from the runs'
//
// Comments are allowed; names of files are relative to the current folder, as in a config.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/load.h"

namespace alibi {

// Keys of "run" that a comparison sets itself, for each run, and what a config is told of them.
inline constexpr const char* kRunKeysOfComparison[] = {"name", "folder", "seed"};
inline constexpr const char* kSetByComparison = "is set by the comparison for each run";

inline constexpr const char* kFromVariant = "variants/";  // in initialize.from, before its name

struct ComparisonVariant {
  std::string name;
  ConfigFragment changes;
};

struct ComparisonTask {
  std::string name;                    // in figures: evaluate.task's, or a name of its own
  std::vector<std::string> overrides;  // of every variant's config, evaluate.task among them
};

struct ComparisonFile {
  std::string place;  // the file itself
  std::string name, title, folder, measured, reference;
  std::vector<std::string> base, text;
  bool any_device = false;
  ConfigFragment common;
  std::vector<ComparisonVariant> variants;
  std::vector<std::int64_t> seeds = {0, 1, 2};
  std::vector<ComparisonTask> tasks;
};

// Throws Error (exit code 2) with one line per fault. The variants' configs are not judged here.
ComparisonFile load_comparison(const std::string& file);

}  // namespace alibi
