// The folder of one run, held by one process at a time: the first rank, where there are several.
//
//   RUN/config.json    the resolved config
//   RUN/alibi.log      messages of all starts, with time and level
//   RUN/log.jsonl      one line per reported step and per validation
//   RUN/checkpoints/   see checkpoint/checkpoint.h
//   RUN/lock           held while a process trains here
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/files.h"
#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "data/prepared.h"

namespace alibi {

// Checksum of what decides a run's result: identity keys, data and revision of the arithmetic.
std::string run_identity(const Config& config, const std::string& data_hash);

class RunFolder {
 public:
  // Without `resume` the folder must not exist yet; with it a missing one is made. Throws Error
  // when it exists without --resume, is in use, or cannot be written.
  RunFolder(const Config& config, bool resume);
  // On a rank that only reads there: makes, locks and removes nothing.
  static RunFolder read_only(const Config& config);
  // Removes a folder made here that a run left without a logged step or a checkpoint: the corrected
  // command must not be refused.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path log() const { return path_ / "log.jsonl"; }
  void check_lock() const { lock_->check(); }  // throws Error where somebody removed it

  // The newest valid checkpoint; nothing when the run has none yet. Throws Error when there are
  // some and none is whole, and (exit code 2) when it was computed by another revision of the
  // arithmetic (base/version.h) or belongs to another config, naming each key that differs and may
  // not (config/fields.h: adjustable).
  std::optional<Checkpoint> resume_point(const Config& config) const;
  // Throws Error (exit code 2) when that checkpoint was made from another text or with another
  // tokenizer. Separate, for preparing a text may take long.
  void refuse_other_text(const Checkpoint& checkpoint, const PreparedText& text) const;

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  bool is_unused() const;

  std::filesystem::path path_;
  std::filesystem::path made_from_;  // the topmost folder made here; empty: it was there
  std::unique_ptr<FileLock> lock_;
};

// The config stored by an earlier start of this run, so that what depends on the machine
// (precision, lanes) keeps its first answer: config.json, or the newest whole checkpoint's where
// that is missing or damaged; nothing where there is neither.
std::optional<Config> stored_config(const std::filesystem::path& run_folder);

}  // namespace alibi
