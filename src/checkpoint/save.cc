#include <exception>
#include <system_error>

#include "base/checksums.h"
#include "base/error.h"
#include "base/files.h"
#include "base/unfinished_work.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/folders.h"
#include "text/tokenizer.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

void add_text(const fs::path& folder, const char* name, std::string_view text, Manifest& manifest) {
  write_file_synced(folder / name, text);
  manifest.files.push_back({name, text.size(), sha256_hex(text)});
}

void add_digests(const char* name, const SafetensorsDigests& digests, Manifest& manifest) {
  manifest.files.push_back({name, digests.bytes, digests.file});
  for (const auto& [tensor, digest] : digests.tensors) {
    manifest.tensors.push_back({name, tensor, digest});
  }
}

void write_content(const fs::path& folder, const Checkpoint& checkpoint, bool begun) {
  Manifest manifest;
  add_text(folder, kConfigFile, checkpoint.config_json, manifest);
  add_text(folder, kProgressFile,
           progress_text({checkpoint.progress, checkpoint.identity, checkpoint.data_hash}),
           manifest);
  if (!checkpoint.tokenizer_model.empty()) {
    const char* name = Tokenizer::file_name(checkpoint.tokenizer_model);
    add_text(folder, name, checkpoint.tokenizer_model, manifest);
  }
  add_digests(kWeightsFile, save_tensors(folder / kWeightsFile, checkpoint.weights), manifest);
  const fs::path optimizer = folder / kOptimizerFile;
  add_digests(
      kOptimizerFile,
      begun ? safetensors_digests(optimizer) : save_tensors(optimizer, checkpoint.optimizer),
      manifest);
  write_file_synced(folder / kManifestName, manifest_text(manifest));
  sync_folder(folder);
}

// A folder cannot be renamed over a full one, so an older save of the step is renamed first, under
// a name that still counts as a checkpoint: at every moment one of the two is there. Where a kill
// left both, the whole one of them stays until the new one is there.
void commit(StagedPath& staged, const fs::path& target) {
  fs::path replaced = target;
  replaced += kReplacedSuffix;
  std::error_code ignored;
  if (fs::exists(target, ignored) && fs::exists(replaced, ignored))
    discard_folder(checkpoint_faults(target).empty() ? replaced : target);
  if (fs::exists(target, ignored)) rename_durably(target, replaced);
  staged.commit();
  if (fs::exists(replaced, ignored)) discard_folder(replaced);
}

}  // namespace

fs::path begin_checkpoint(const fs::path& checkpoints_folder, std::int64_t step,
                          const TensorShapes& optimizer) {
  make_folders(checkpoints_folder);
  remove_leftovers(checkpoints_folder);
  const fs::path folder = temporary_path(checkpoints_folder, step_name(step));
  make_folders(folder);
  try {
    begin_tensors(folder / kOptimizerFile, optimizer);
  } catch (...) {
    remove_tree(folder);
    throw;
  }
  return folder;
}

void write_optimizer(const fs::path& begun, const TensorShapes& optimizer,
                     const std::vector<TensorSlice>& slices) {
  write_slices(begun / kOptimizerFile, optimizer, slices);
}

fs::path save_checkpoint(const fs::path& checkpoints_folder, const Checkpoint& checkpoint,
                         const fs::path& begun) {
  const UnfinishedWork unfinished;  // a lost peer is no reason to drop it
  const std::string name = step_name(checkpoint.progress.step);
  const fs::path target = checkpoints_folder / name;
  StagedPath staged(target, begun.empty() ? temporary_path(checkpoints_folder, name) : begun);
  if (begun.empty()) {
    make_folders(checkpoints_folder);
    remove_leftovers(checkpoints_folder);
    make_folders(staged.path());
  }
  write_content(staged.path(), checkpoint, !begun.empty());
  commit(staged, target);
  return target;
}

}  // namespace alibi
