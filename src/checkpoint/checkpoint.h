// Checkpoints: everything a run needs to go on, in a folder that is either whole or not there.
//
//   RUN/checkpoints/
//     step-00000123/
//       manifest.json           sizes and SHA-256 of all others and of each tensor, written last
//       config.json             the resolved config
//       progress.json           see checkpoint/progress.h
//       tokenizer.model         or tokenizer.json (byte-level BPE); absent: bytes
//       weights.safetensors
//       optimizer.safetensors
//     step-00000123.old/        only after a kill while step 123 was saved a second time
//     .tmp-PID-step-00000124/   a save not finished; the next save removes it
//
// A save fsyncs every file, the folder, renames it once and fsyncs the folder above. No file names
// the newest checkpoint: it is the one with the highest step whose manifest verifies.
// One process at a time may save into a folder; the run folder's lock sees to that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoint/progress.h"
#include "checkpoint/tensors.h"

namespace alibi {

struct Checkpoint {
  std::string config_json;
  std::string tokenizer_model;  // "" means bytes
  std::string identity;         // run hash
  std::string data_hash;        // of tokenizer and token files; "" in checkpoints before version 3
  Progress progress;
  Tensors weights;    // contiguous CPU tensors are saved without a copy
  Tensors optimizer;  // empty when only the weights were asked for
};

enum class Load { kWeights, kAll };

// Returns the new folder. A checkpoint of the same step is replaced, and is lost at no moment.
// `begun` is a folder of begin_checkpoint(), which holds the optimizer's state already; empty:
// none. Throws Error (full disk, folder not writable); former checkpoints are then as they were.
std::filesystem::path save_checkpoint(const std::filesystem::path& checkpoints_folder,
                                      const Checkpoint& checkpoint,
                                      const std::filesystem::path& begun = {});

// Several processes save one checkpoint: the first begins it, all write their slices of the
// optimizer's state (write_optimizer), the first saves the rest and commits.
// Returns a folder that is not yet a checkpoint.
std::filesystem::path begin_checkpoint(const std::filesystem::path& checkpoints_folder,
                                       std::int64_t step, const TensorShapes& optimizer);
void write_optimizer(const std::filesystem::path& begun, const TensorShapes& optimizer,
                     const std::vector<TensorSlice>& slices);

// `given` as for resolve_checkpoint. Every file that is read is verified first; kWeights does not
// look at the optimizer. Throws Error with one line for each damaged file, naming the tensor.
Checkpoint load_checkpoint(const std::filesystem::path& given, Load parts);

// Where the checkpoint of a step lies, there or not.
std::filesystem::path checkpoint_path(const std::filesystem::path& checkpoints_folder,
                                      std::int64_t step);

// Its config.json alone, verified: what must be known before any tensor is made.
std::string checkpoint_config(const std::filesystem::path& checkpoint_folder);

// SHA-256 of its tokenizer's file by its manifest; "" for bytes.
std::string checkpoint_tokenizer_hash(const std::filesystem::path& checkpoint_folder);

// Turns RUN, RUN/checkpoints, RUN/best or a checkpoint's folder into the latter. A run gives its
// newest valid one; `best` the one with the lowest validation loss. Throws Error naming what is
// missing: nothing there, a run without checkpoint yet, all damaged, no checkpoint at all.
std::filesystem::path resolve_checkpoint(const std::filesystem::path& given);

// Verifies from the highest step downwards until one is whole; nothing when there is none. What
// is wrong with each bad one goes into `skipped`, or as a warning into the log when that is null.
std::optional<std::filesystem::path> newest_valid_checkpoint(
    const std::filesystem::path& checkpoints_folder, std::vector<std::string>* skipped = nullptr);
// Those lines into the log.
void warn_of_damaged(const std::vector<std::string>& skipped);

// What is wrong with one checkpoint folder; empty means whole. Reads every byte of it.
std::vector<Fault> checkpoint_faults(const std::filesystem::path& checkpoint_folder);

// Which checkpoints stay when a new one has come.
struct KeptSteps {
  std::int64_t newest = 2;                // steps, at least 1
  std::vector<std::int64_t> these_steps;  // whether new or not: the best one, one to go back to
  // Later ones, which a resume found damaged, neither count nor go.
  std::int64_t latest = std::numeric_limits<std::int64_t>::max();
};

// Keeps those and at least one valid checkpoint; removes the rest, oldest first. A kill leaves no
// half checkpoint under a valid name. Reads the newest one.
void rotate_checkpoints(const std::filesystem::path& checkpoints_folder, const KeptSteps& keep);

}  // namespace alibi
