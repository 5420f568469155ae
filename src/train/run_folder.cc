#include "train/run_folder.h"

#include "base/checksums.h"
#include "base/error.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/version.h"
#include "config/load.h"

namespace alibi {
namespace fs = std::filesystem;

namespace {

// First line in which two pretty-printed configs differ, as "/section/key: stored X, now Y".
void refuse_other_config(const Config& now, const std::string& stored_text, const fs::path& place) {
  const Config stored = parse_config(stored_text, place.string());
  for (const ConfigDifference& difference : identity_differences(stored, now)) {
    throw usage_error(
        place.string() + ": " + difference.pointer,
        "this run was started with " + difference.first + ", now it is " + difference.second,
        "resume with the old value, or choose another run.folder");
  }
}

}  // namespace

std::string run_identity(const Config& config, const std::string& data_hash) {
  return sha256_hex(identity_json(config) + "\n" + data_hash + "\n" + kVersion);
}

RunFolder::RunFolder(const Config& config, bool resume) : path_(config.run.folder) {
  std::error_code ignored;
  const bool exists = fs::exists(path_, ignored);
  if (exists && !resume) {
    throw usage_error(path_.string(), "this run folder exists already",
                      "--resume goes on with it; --set run.name=... starts another");
  }
  make_folders(checkpoints());
  lock_ = std::make_unique<FileLock>(path_ / "lock", "run folder " + path_.string());
}

std::optional<Checkpoint> RunFolder::resume_point(const Config& config,
                                                  const std::string& identity) const {
  const std::optional<fs::path> newest = newest_valid_checkpoint(checkpoints());
  if (!newest) return std::nullopt;
  Checkpoint checkpoint = load_checkpoint(*newest, Load::kAll);
  if (checkpoint.identity == identity) return checkpoint;
  refuse_other_config(config, checkpoint.config_json, *newest / "config.json");
  throw usage_error(newest->string(),
                    "was made from other data, another tokenizer or another program version",
                    "restore them, or choose another run.folder");
}

std::optional<Precision> stored_precision(const fs::path& run_folder) {
  const fs::path file = run_folder / "config.json";
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  return parse_config(read_file(file), file.string()).runtime.precision;
}

}  // namespace alibi
