#include "checkpoint/folders.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <tuple>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "checkpoint/checkpoint.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kTemporary = ".tmp-";

std::int64_t parse_step(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return -1;
  const std::string_view digits = name.substr(kStepPrefix.size());
  std::int64_t step = -1;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  const bool is_whole = result.ec == std::errc() && result.ptr == digits.data() + digits.size();
  return is_whole && step >= 0 && step_name(step) == name ? step : -1;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code code;
  std::vector<fs::path> paths;
  fs::directory_iterator entry(folder, code);
  if (code == std::errc::no_such_file_or_directory) return paths;
  for (; !code && entry != fs::directory_iterator(); entry.increment(code)) {
    paths.push_back(entry->path());
  }
  if (code) throw Error(folder.string(), "cannot list: " + code.message());
  return paths;
}

}  // namespace

std::string step_name(std::int64_t step) {
  return cat(kStepPrefix, zero_padded(static_cast<std::uint64_t>(step), 8));
}

fs::path checkpoint_path(const fs::path& checkpoints_folder, std::int64_t step) {
  return checkpoints_folder / step_name(step);
}

std::int64_t named_step(const fs::path& checkpoint_folder) {
  std::string name = checkpoint_folder.filename().string();
  if (name.ends_with(kReplacedSuffix))
    name.resize(name.size() - std::string_view(kReplacedSuffix).size());
  return parse_step(name);
}

std::vector<StepFolder> step_folders(const fs::path& checkpoints_folder) {
  std::vector<StepFolder> folders;
  for (const fs::path& path : entries(checkpoints_folder)) {
    const std::int64_t step = named_step(path);
    if (step >= 0)
      folders.push_back({step, path.filename().string().ends_with(kReplacedSuffix), path});
  }
  std::sort(folders.begin(), folders.end(), [](const StepFolder& a, const StepFolder& b) {
    return std::tuple(-a.step, a.replaced) < std::tuple(-b.step, b.replaced);
  });
  return folders;
}

fs::path temporary_path(const fs::path& checkpoints_folder, const std::string& name) {
  return checkpoints_folder / cat(kTemporary, ::getpid(), "-", name);
}

void discard_folder(const fs::path& folder) {
  const fs::path doomed = temporary_path(folder.parent_path(), "old-" + folder.filename().string());
  remove_tree(doomed);
  rename_durably(folder, doomed);
  remove_tree(doomed);
}

void remove_leftovers(const fs::path& checkpoints_folder) {
  for (const fs::path& path : entries(checkpoints_folder)) {
    if (path.filename().string().starts_with(kTemporary)) remove_tree(path);
  }
  for (const StepFolder& folder : step_folders(checkpoints_folder)) {
    const fs::path successor = checkpoints_folder / step_name(folder.step);
    if (folder.replaced && checkpoint_faults(successor).empty()) discard_folder(folder.path);
  }
}

Manifest checkpoint_manifest(const fs::path& checkpoint_folder) {
  Manifest manifest = read_manifest(checkpoint_folder);
  for (const char* name : {kConfigFile, kProgressFile, kWeightsFile, kOptimizerFile}) {
    if (manifest.find(name) == nullptr) {
      throw Error((checkpoint_folder / kManifestName).string(),
                  cat("does not list \"", name, "\""));
    }
  }
  return manifest;
}

}  // namespace alibi
