// Saves a run's checkpoints, one at a time, and emits a record when one is committed. All ranks
// call: each writes what it has of the optimizer's state, the first all else, and commits.
#pragma once

#include "checkpoint/saver.h"
#include "config/config.h"
#include "train/agreement.h"
#include "train/budget.h"
#include "train/emitter.h"
#include "train/run_folder.h"
#include "train/state.h"

namespace alibi {

class Checkpointer {
 public:
  // The state's step counts as saved where `is_saved`. All outlive it.
  Checkpointer(const Config& config, const RunFolder& folder, TrainState& state,
               Agreement& agreement, Emitter& emitter, bool is_saved);

  // Starts a save of the state unless its step is saved. Events so far are made durable first: the
  // checkpoint promises their lines. State that is not finite is not saved, see
  // may_save(). Throws Error where somebody removed the run folder's lock.
  void save(bool steps_follow);
  // The save that ends a run: of a state that is not saved yet or was finished by it. Waits; throws
  // what made it fail whatever guard.failed_save says, since no later save makes it good.
  void save_last();

  // Emits the save that has ended since the last call. A failed one ends the run, or, by
  // guard.failed_save, is made good by the next.
  void collect() { collect(false); }
  void wait();  // the same, for one that is under way too; on all ranks
  // Of the first rank: whether it writes a save, and what recent ones took, with what ranks share.
  bool is_saving() const { return saver_.is_saving(); }
  double seconds() const { return seconds_; }

 private:
  void collect(bool wait);
  bool needs_save();
  bool may_save(const Checkpoint& checkpoint, bool steps_follow);
  bool write_shares(std::filesystem::path& begun, bool steps_follow);

  const Config& config_;
  const RunFolder& folder_;
  TrainState& state_;
  Agreement& agreement_;
  Emitter& emitter_;
  std::int64_t saved_step_;  // the newest; -1: none
  CheckpointSaver saver_;
  RecentSeconds recent_;
  double seconds_ = 0;        // 0: none has ended
  double share_seconds_ = 0;  // of the save begun last, before the saver has it
};

}  // namespace alibi
