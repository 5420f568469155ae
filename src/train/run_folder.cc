#include "train/run_folder.h"

#include "base/checksums.h"
#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/version.h"
#include "config/load.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

// The weights of such a run would not be those of an uninterrupted one.
void refuse_other_arithmetic(const Progress& stored, const Config& config, const fs::path& place) {
  const int revision = arithmetic_revision(config.model);
  if (stored.arithmetic_revision == revision) return;
  throw usage_error(
      place.string(),
      cat("computed by revision ", stored.arithmetic_revision, " of the arithmetic, this program (",
          kVersion, ") has revision ", revision),
      "resume with a program version of that revision, or choose another run.name; "
      "initialize.from begins with this run's weights");
}

// Names every key that differs and may not; the first one with its values.
void refuse_other_config(const Config& now, const Config& stored, const fs::path& place) {
  std::vector<ConfigDifference> different = identity_differences(stored, now);
  std::erase_if(different, [](const ConfigDifference& key) { return key.adjustable; });
  if (different.empty()) return;
  std::vector<std::string> others;
  for (std::size_t i = 1; i < different.size(); ++i) others.push_back(different[i].pointer);
  throw usage_error(cat(place.string(), ": ", different.front().pointer),
                    cat("this run was started with ", different.front().first, ", now it is ",
                        different.front().second,
                        others.empty() ? "" : "; different, too: " + join(others, ", ")),
                    "resume with the old values, or choose another run.name; initialize.from "
                    "begins with this run's weights");
}

// As a start leaves it that was ended before it came to train: by a limit of time, or a kill.
bool holds_nothing(const fs::path& run_folder) {
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(run_folder, code)) {
    const std::string name = entry.path().filename().string();
    const bool empty = name == "checkpoints" && fs::is_empty(entry.path(), code);
    if (name != "lock" && name != "alibi.log" && !empty) return false;
  }
  return !code;
}

}  // namespace

std::string run_identity(const Config& config, const std::string& data_hash) {
  return sha256_hex(identity_json(config) + "\n" + data_hash + "\n" +
                    arithmetic_text(config.model));
}

RunFolder::RunFolder(const Config& config, bool resume) : path_(without_slash(config.run.folder)) {
  std::error_code ignored;
  const bool exists = fs::exists(path_, ignored);
  if (exists && !resume && !holds_nothing(path_)) {
    throw usage_error(path_.string(), "this run folder exists already",
                      "--resume goes on with it; --set run.name=... starts another");
  }
  if (!fs::exists(path_ / "lock", ignored) && !fs::exists(checkpoints(), ignored)) {
    for (const char* own : {"config.json", "log.jsonl", "log.csv", "report.html"})
      if (fs::exists(path_ / own, ignored))
        throw usage_error((path_ / own).string(), "would be written over, and is of no run here",
                          "choose another run.name or run.folder");
  }
  const fs::path made_from = make_folders(checkpoints());
  lock_ = std::make_unique<FileLock>(path_ / "lock", "run folder " + path_.string());
  if (!exists)
    made_from_ = made_from;  // who has not got the lock removes nothing: the folder is another's
}

RunFolder RunFolder::read_only(const Config& config) {
  return RunFolder(fs::path(without_slash(config.run.folder)));
}

RunFolder::~RunFolder() {
  if (made_from_.empty() || !is_unused()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (path_ != made_from_) remove_empty_folders(path_.parent_path(), made_from_);
}

bool RunFolder::is_unused() const {
  std::error_code code;
  const auto log_bytes = fs::file_size(log(), code);
  if (!code && log_bytes > 0) return false;
  const fs::directory_iterator entry(checkpoints(), code);
  return code || entry == fs::directory_iterator();
}

std::optional<Checkpoint> RunFolder::resume_point(const Config& config) const {
  std::vector<std::string> damaged;
  const std::optional<fs::path> newest = newest_valid_checkpoint(checkpoints(), &damaged);
  if (!newest && damaged.empty()) return std::nullopt;
  if (!newest) {
    throw Error(checkpoints().string(),
                cat("holds ", damaged.size(),
                    " checkpoints and none is whole; the newest: ", damaged.front()),
                "put one back, or choose another run.name; nothing was changed");
  }
  warn_of_damaged(damaged);
  Checkpoint checkpoint = load_checkpoint(*newest, Load::kAll);
  const fs::path stored_file = *newest / "config.json";
  refuse_other_config(config, parse_config(checkpoint.config_json, stored_file.string()),
                      stored_file);
  refuse_other_arithmetic(checkpoint.progress, config, *newest);
  return checkpoint;
}

void RunFolder::refuse_other_text(const Checkpoint& checkpoint, const PreparedText& text) const {
  const std::string place = cat(path_.string(), ", step ", checkpoint.progress.step);
  const std::string way_out = "put the old one back, or choose another run.name";
  if (checkpoint.tokenizer_model != text.tokenizer.model())
    throw usage_error("/tokenizer", place + " was made with another tokenizer", way_out);
  if (checkpoint.data_hash != text.data_hash) {  // empty before format 3 of progress.json
    throw usage_error(
        "/data",
        cat("the text of data.train or data.valid is not the one that ", place, ", was made from"),
        way_out);
  }
}

std::optional<Config> stored_config(const fs::path& run_folder) {
  const auto config_in = [](const fs::path& folder) {
    const fs::path file = folder / "config.json";
    return parse_config(read_file(file), file.string());
  };
  std::error_code ignored;
  if (fs::exists(run_folder / "config.json", ignored)) {
    try {
      return config_in(run_folder);
    } catch (const Error& error) {  // what the checkpoints hold counts; this copy is written again
      log_warning(cat("not read, and written again: ", error.what()));
    }
  }
  const auto newest = newest_valid_checkpoint(run_folder / "checkpoints");
  if (!newest) return std::nullopt;
  return config_in(*newest);
}

}  // namespace alibi
