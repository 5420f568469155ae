#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/folders.h"
#include "text/tokenizer.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLargestText = 16ull << 20;

ProgressFile read_progress(const fs::path& folder) {
  const fs::path path = folder / kProgressFile;
  ProgressFile file = parse_progress(read_file(path, kLargestProgress), path.string());
  const std::int64_t step = named_step(folder);
  if (step >= 0 && step != file.progress.step) {
    throw Error(path.string(),
                cat("is of step ", file.progress.step, ", its folder of step ", step),
                "give the folder its own name back");
  }
  return file;
}

// Throws Error with one line for each listed file that is damaged.
void verify(const Manifest& manifest, const fs::path& folder) {
  const std::vector<Fault> faults = manifest_faults(manifest, folder);
  if (!faults.empty()) throw Error(faults, ExitCode::kFailure);
}

}  // namespace

std::vector<Fault> checkpoint_faults(const fs::path& checkpoint_folder) {
  try {
    const Manifest manifest = checkpoint_manifest(checkpoint_folder);
    std::vector<Fault> faults = manifest_faults(manifest, checkpoint_folder);
    if (faults.empty()) read_progress(checkpoint_folder);
    return faults;
  } catch (const Error& error) {
    return {{"", error.what(), ""}};
  }
}

std::string checkpoint_config(const fs::path& checkpoint_folder) {
  Manifest manifest = checkpoint_manifest(checkpoint_folder);
  std::erase_if(manifest.files, [](const ManifestFile& file) { return file.name != kConfigFile; });
  verify(manifest, checkpoint_folder);
  return read_file(checkpoint_folder / kConfigFile, kLargestText);
}

std::string checkpoint_tokenizer_hash(const fs::path& checkpoint_folder) {
  const Manifest manifest = checkpoint_manifest(checkpoint_folder);
  for (const char* name : kTokenizerFiles)
    if (const ManifestFile* file = manifest.find(name)) return file->sha256;
  return {};
}

Checkpoint load_checkpoint(const fs::path& given, Load parts) {
  const fs::path folder = resolve_checkpoint(given);
  Manifest manifest = checkpoint_manifest(folder);
  if (parts == Load::kWeights) {
    std::erase_if(manifest.files,
                  [](const ManifestFile& file) { return file.name == kOptimizerFile; });
  }
  verify(manifest, folder);
  Checkpoint checkpoint;
  ProgressFile file = read_progress(folder);
  checkpoint.progress = file.progress;
  checkpoint.identity = std::move(file.identity);
  checkpoint.data_hash = std::move(file.data_hash);
  checkpoint.config_json = read_file(folder / kConfigFile, kLargestText);
  for (const char* name : kTokenizerFiles) {
    if (manifest.find(name) != nullptr)
      checkpoint.tokenizer_model = read_file(folder / name, kLargestTokenizer);
  }
  checkpoint.weights = load_tensors(folder / kWeightsFile);
  if (parts == Load::kAll) checkpoint.optimizer = load_tensors(folder / kOptimizerFile);
  return checkpoint;
}

}  // namespace alibi
