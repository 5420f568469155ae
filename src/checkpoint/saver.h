// Saves checkpoints while training goes on: what is to be saved is copied when it is asked for and
// written by another thread, so that no later step can leak into the file.
#pragma once

#include <filesystem>
#include <optional>

#include "base/background.h"
#include "checkpoint/checkpoint.h"

namespace alibi {

class CheckpointSaver {
 public:
  // Not in the background: save() returns when the checkpoint is committed or has failed, and
  // nothing is copied.
  CheckpointSaver(std::filesystem::path checkpoints_folder, bool in_background);
  ~CheckpointSaver();  // waits; a failure is a warning in the log
  CheckpointSaver(const CheckpointSaver&) = delete;
  CheckpointSaver& operator=(const CheckpointSaver&) = delete;

  // Saves, then rotates. Waits for a save still under way; ask committed() or finish() for it
  // first. Takes the memory of a copy of all tensors, once.
  // `begun` as for save_checkpoint().
  void save(Checkpoint checkpoint, const KeptSteps& keep, const std::filesystem::path& begun = {});

  // The folder of a save that has ended since the last call; nothing while none has. Throws what
  // made it fail: former checkpoints are then as they were.
  std::optional<std::filesystem::path> committed();
  std::optional<std::filesystem::path> finish();  // the same, but waits
  bool is_saving() const { return work_.is_running(); }
  // Of the save that committed() or finish() has just reported.
  double seconds() const { return seconds_; }

 private:
  bool copy(Checkpoint& checkpoint);

  std::filesystem::path folder_;
  bool in_background_;
  bool pending_ = false;  // saved, not yet reported
  // Written by the thread that saves, read once it is done.
  std::filesystem::path result_;
  double seconds_ = 0;
  Tensors weights_, optimizer_;  // the copy; its memory is used again
  BackgroundWork work_;          // last: its thread works on all above
};

}  // namespace alibi
