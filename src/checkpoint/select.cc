// Which checkpoint of a run: the newest valid one, the best one, and those that may go.
#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/folders.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

constexpr const char* kCheckpoints = "checkpoints";
constexpr const char* kBest = "best";

bool is_folder(const fs::path& path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

// RUN or RUN/checkpoints -> RUN/checkpoints; an empty path when it is neither.
fs::path checkpoints_of(const fs::path& given) {
  if (is_folder(given / kCheckpoints)) return given / kCheckpoints;
  if (given.filename() == kCheckpoints && is_folder(given)) return given;
  return step_folders(given).empty() ? fs::path() : given;
}

fs::path newest_of(const fs::path& checkpoints_folder, const fs::path& given) {
  if (step_folders(checkpoints_folder).empty()) {
    throw Error(given.string(), "holds no checkpoint yet", "train it until its first save");
  }
  std::vector<std::string> skipped;
  const auto newest = newest_valid_checkpoint(checkpoints_folder, &skipped);
  if (!newest) {
    throw Error(given.string(), cat("holds no whole checkpoint; the newest: ", skipped.front()),
                "restore its files, or train again");
  }
  warn_of_damaged(skipped);
  return *newest;
}

fs::path best_of(const fs::path& checkpoints_folder, const fs::path& given) {
  const fs::path newest = newest_of(checkpoints_folder, given);
  const fs::path path = newest / kProgressFile;
  const Progress progress =
      parse_progress(read_file(path, kLargestProgress), path.string()).progress;
  if (std::isinf(progress.best_validation_loss)) {
    throw Error(given.string(), "the run was never evaluated, so no checkpoint is the best",
                "name the run folder for its newest one");
  }
  fs::path best = checkpoints_folder / step_name(progress.best_step);
  if (!is_folder(best))
    throw Error(best.string(),
                "the best checkpoint is not there: it was removed, or its save failed",
                "name the run folder for its newest one");
  return best;
}

}  // namespace

void warn_of_damaged(const std::vector<std::string>& skipped) {
  for (const std::string& line : skipped) log_warning("skipping a damaged checkpoint: " + line);
}

std::optional<fs::path> newest_valid_checkpoint(const fs::path& checkpoints_folder,
                                                std::vector<std::string>* skipped) {
  for (const StepFolder& folder : step_folders(checkpoints_folder)) {
    const std::vector<Fault> faults = checkpoint_faults(folder.path);
    if (faults.empty()) return folder.path;
    std::string line = faults.front().line();
    if (faults.size() > 1) line += cat(" (and ", faults.size() - 1, " more)");
    if (skipped != nullptr) {
      skipped->push_back(std::move(line));
    } else {
      warn_of_damaged({line});
    }
  }
  return std::nullopt;
}

fs::path resolve_checkpoint(const fs::path& given) {
  const fs::path path = without_slash(given.lexically_normal());
  if (!is_there(path)) {
    const fs::path checkpoints =
        path.filename() == kBest ? checkpoints_of(path.parent_path()) : fs::path();
    if (!checkpoints.empty()) return best_of(checkpoints, path);
    throw Error(given.string(), "does not exist", "name a run folder or a checkpoint folder");
  }
  if (!is_folder(path)) {
    throw Error(given.string(), "is not a folder", "name a run folder or a checkpoint folder");
  }
  if (is_there(path / kManifestName) || named_step(path) >= 0) return path;
  if (const fs::path checkpoints = checkpoints_of(path); !checkpoints.empty()) {
    return newest_of(checkpoints, path);
  }
  if (is_there(path / "tokenizer_config.json") || is_there(path / "model.safetensors")) {
    throw Error(given.string(), "is a folder of transformers, not a checkpoint",
                cat("alibi import ", given.string(), " makes one of it"));
  }
  if (is_there(path / kConfigFile)) {
    throw Error(given.string(), "holds no checkpoint yet", "train it until its first save");
  }
  throw Error(given.string(), "is neither a run nor a checkpoint",
              cat("expected ", kManifestName, " or a folder ", kCheckpoints, " in it"));
}

void rotate_checkpoints(const fs::path& checkpoints_folder, const KeptSteps& keep) {
  ensure(keep.newest >= 1, "at least one checkpoint is kept");
  const auto is_wanted = [&](std::int64_t step) {
    return std::ranges::count(keep.these_steps, step) > 0;
  };
  std::vector<StepFolder> kept;
  std::vector<StepFolder> removed;
  std::int64_t steps = 0;
  std::int64_t previous = -1;
  for (const StepFolder& folder : step_folders(checkpoints_folder)) {
    if (folder.step > keep.latest) continue;
    steps += folder.step != previous ? 1 : 0;
    previous = folder.step;
    (steps <= keep.newest || is_wanted(folder.step) ? kept : removed).push_back(folder);
  }
  const auto is_whole = [](const StepFolder& folder) {
    return checkpoint_faults(folder.path).empty();
  };
  if (!removed.empty() && std::none_of(kept.begin(), kept.end(), is_whole)) {
    const auto last_valid = std::find_if(removed.begin(), removed.end(), is_whole);
    if (last_valid != removed.end()) removed.erase(last_valid);
  }
  for (auto folder = removed.rbegin(); folder != removed.rend(); ++folder) {
    discard_folder(folder->path);
  }
}

}  // namespace alibi
