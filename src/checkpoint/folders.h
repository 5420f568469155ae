// The names inside a checkpoints folder; what save, load and rotate share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/manifest.h"

namespace alibi {

inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kProgressFile = "progress.json";
inline constexpr std::uint64_t kLargestProgress = 16ull << 20;
// One of them, or none for bytes.
inline constexpr const char* kTokenizerFiles[] = {"tokenizer.model", "tokenizer.json"};
inline constexpr const char* kWeightsFile = "weights.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";

inline constexpr const char* kReplacedSuffix = ".old";

struct StepFolder {
  std::int64_t step = 0;
  bool replaced = false;  // step-N.old
  std::filesystem::path path;
};

std::string step_name(std::int64_t step);  // "step-00000123"

// Highest step first, a replaced one after its successor. A missing folder holds none.
std::vector<StepFolder> step_folders(const std::filesystem::path& checkpoints_folder);

// The step that a folder's name promises, or -1 when it is not named like a checkpoint.
std::int64_t named_step(const std::filesystem::path& checkpoint_folder);

// Where this process writes or removes what is to be called `name`.
std::filesystem::path temporary_path(const std::filesystem::path& checkpoints_folder,
                                     const std::string& name);

// Takes a folder's name away first, then its content.
void discard_folder(const std::filesystem::path& folder);

// Removes what a killed save or rotation left behind.
void remove_leftovers(const std::filesystem::path& checkpoints_folder);

// The manifest, when it lists all that a checkpoint needs. Throws Error.
Manifest checkpoint_manifest(const std::filesystem::path& checkpoint_folder);

}  // namespace alibi
