// A checkpoint comes back as it was, and no byte of it can change unseen. Seen failing with
// checksums accepted unread, faults ignored on loading, and a replaced folder discarded unverified.
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/system_calls.h"
#include "checkpoint/example.h"
#include "checkpoint/folders.h"
#include "checkpoint/load_model.h"
#include "device/libtorch.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {
namespace fs = std::filesystem;

TEST(SaveLoad, ComesBackAsItWas) {
  const TemporaryFolder folder;
  Checkpoint saved = example_checkpoint(123);
  const fs::path path = save_checkpoint(folder.path() / "checkpoints", saved);
  EXPECT_EQ(path, folder.path() / "checkpoints" / "step-00000123");
  EXPECT_TRUE(checkpoint_faults(path).empty());
  EXPECT_TRUE(same_checkpoint(load_checkpoint(path, Load::kAll), saved));
  const Checkpoint weights = load_checkpoint(path, Load::kWeights);
  EXPECT_TRUE(same_tensors(weights.weights, saved.weights));
  EXPECT_TRUE(weights.optimizer.empty());
  saved.tokenizer_model = "";
  saved.progress.best_validation_loss = 1.0 / 3;
  saved.progress.finished = true;
  save_checkpoint(folder.path() / "checkpoints", saved);
  EXPECT_FALSE(fs::exists(path / kTokenizerFiles[0]));
  EXPECT_TRUE(same_checkpoint(load_checkpoint(path, Load::kAll), saved));
}

TEST(SaveLoad, SavingAStepAgainReplacesItAndLeavesNothingElse) {
  const TemporaryFolder folder;
  save_checkpoint(folder.path(), example_checkpoint(5));
  Checkpoint second = example_checkpoint(5);
  second.weights["norm"] = torch::zeros({3});
  const fs::path path = save_checkpoint(folder.path(), second);
  EXPECT_TRUE(same_checkpoint(load_checkpoint(path, Load::kAll), second));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(SaveLoad, GoesOnAfterAKillBetweenTheTwoRenames) {
  const TemporaryFolder folder;
  const fs::path path = save_checkpoint(folder.path(), example_checkpoint(5));
  fs::rename(path, folder.path() / "step-00000005.old");
  EXPECT_EQ(newest_valid_checkpoint(folder.path()), folder.path() / "step-00000005.old");
  EXPECT_TRUE(same_checkpoint(load_checkpoint(folder.path(), Load::kAll), example_checkpoint(5)));
  save_checkpoint(folder.path(), example_checkpoint(6));
  EXPECT_TRUE(fs::exists(folder.path() / "step-00000005.old"));
  save_checkpoint(folder.path(), example_checkpoint(5));
  EXPECT_FALSE(fs::exists(folder.path() / "step-00000005.old"));
}

// Killed between its second save and the removal of the first, then damaged. Seen failing with the
// first, the only whole one, removed before the third was there.
TEST(SaveLoad, TheWholeOneOfTwoStaysUntilTheNextIsThere) {
  const TemporaryFolder folder;
  const fs::path path = save_checkpoint(folder.path(), example_checkpoint(5));
  const fs::path old = folder.path() / "step-00000005.old";
  fs::copy(path, old, fs::copy_options::recursive);
  write_file_atomic(path / "config.json", "damaged");
  bool whole = true;
  set_system_call_hook([&](SystemCall, const fs::path&) {
    whole = whole && newest_valid_checkpoint(folder.path(), nullptr).has_value();
    return 0;
  });
  save_checkpoint(folder.path(), example_checkpoint(5));
  set_system_call_hook({});
  EXPECT_TRUE(whole);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(same_checkpoint(load_checkpoint(path, Load::kAll), example_checkpoint(5)));
}

// Whoever saves holds the run: what lies there half made is nobody's, whatever process has its
// number by now.
TEST(SaveLoad, RemovesWhatUnfinishedSavesLeft) {
  const TemporaryFolder folder;
  for (const char* name : {".tmp-4194399-step-00000001", ".tmp-1-step-00000001", "notes"})
    make_folders(folder.path() / name);
  make_folders(temporary_path(folder.path(), "step-00000001"));
  save_checkpoint(folder.path(), example_checkpoint(2));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2);
  EXPECT_TRUE(fs::exists(folder.path() / "notes"));
}

// Tries `damage` on every byte of every file and expects an Error that names the file.
template <class Damage>
void expect_found(const Damage& damage) {
  const TemporaryFolder folder;
  const fs::path path = save_checkpoint(folder.path(), example_checkpoint(9));
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    const std::string good = read_file(entry.path());
    for (std::size_t i = 0; i < good.size(); ++i) {
      OutputFile(entry.path()).write(damage(good, i));
      const std::string error = error_of([&] { load_checkpoint(path, Load::kAll); });
      EXPECT_NAMES(error, entry.path().string()) << i;
      EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    }
    OutputFile(entry.path()).write(good);
  }
  EXPECT_TRUE(checkpoint_faults(path).empty());
}

TEST(SaveLoad, FindsAFlipOfEveryByte) {
  expect_found([](std::string bytes, std::size_t i) {
    bytes[i] = static_cast<char>(bytes[i] ^ (1 << i % 8));
    return bytes;
  });
}

TEST(SaveLoad, FindsEveryTruncation) {
  expect_found([](const std::string& bytes, std::size_t i) { return bytes.substr(0, i); });
}

TEST(SaveLoad, NamesEveryMissingFileAndTheChangedTensor) {
  const TemporaryFolder folder;
  const fs::path path = save_checkpoint(folder.path(), example_checkpoint(9));
  std::string bytes = read_file(path / kWeightsFile);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  OutputFile(path / kWeightsFile).write(bytes);
  const auto load = [&] { load_checkpoint(path, Load::kAll); };
  EXPECT_ERROR_AT(error_of(load), "weights.safetensors: tensor \"norm\"", "SHA-256");
  fs::remove(path / kConfigFile);
  fs::remove(path / kOptimizerFile);
  const std::string error = error_of(load);
  EXPECT_ERROR_AT(error, "config.json", "missing");
  EXPECT_ERROR_AT(error, "optimizer.safetensors", "missing");
  EXPECT_ERROR_AT(error, "weights.safetensors: tensor \"norm\"");
}

TEST(SaveLoad, WeightsNeedNoOptimizerFile) {
  const TemporaryFolder folder;
  const fs::path path = save_checkpoint(folder.path(), example_checkpoint(9));
  fs::remove(path / kOptimizerFile);
  EXPECT_TRUE(
      same_tensors(load_checkpoint(path, Load::kWeights).weights, example_checkpoint(9).weights));
  EXPECT_NE(error_of([&] { load_checkpoint(path, Load::kAll); }), "");
}

// What it was trained with must not keep it from running elsewhere; what is asked for counts.
TEST(SaveLoad, AKernelOfADeviceDoesNotBindWhereNoneIs) {
  const TemporaryFolder folder;
  Checkpoint checkpoint = example_checkpoint(9);
  checkpoint.config_json = R"({"runtime": {"attention": {"kernel": "cudnn"}}})";
  const fs::path path = save_checkpoint(folder.path(), checkpoint);
  const auto kernel = [&](std::vector<std::string> overrides) {
    overrides.emplace_back("runtime.device=cpu");
    return plan_model(path, overrides).config.runtime.attention.kernel;
  };
  EXPECT_EQ(kernel({}), "auto");
  EXPECT_EQ(kernel({"runtime.attention.kernel=cuda"}), "cuda");
}

TEST(SaveLoad, IgnoresFilesThatAreNotListed) {
  const TemporaryFolder folder;
  const fs::path path = save_checkpoint(folder.path(), example_checkpoint(9));
  write_file_atomic(path / "NOTES.txt", "mine");
  EXPECT_TRUE(checkpoint_faults(path).empty());
}

TEST(SaveLoad, RefusesAFolderUnderAnotherStepsName) {
  const TemporaryFolder folder;
  fs::rename(save_checkpoint(folder.path(), example_checkpoint(9)),
             folder.path() / "step-00000010");
  EXPECT_EQ(newest_valid_checkpoint(folder.path(), nullptr), std::nullopt);
  fs::rename(folder.path() / "step-00000010", folder.path() / "mine");
  EXPECT_EQ(load_checkpoint(folder.path() / "mine", Load::kAll).progress.step, 9);
}

TEST(SaveLoad, RefusesAManifestThatListsTooLittle) {
  const TemporaryFolder folder;
  const fs::path path = save_checkpoint(folder.path(), example_checkpoint(9));
  write_file_atomic(path / kManifestName, manifest_text({}));
  const std::string error = error_of([&] { load_checkpoint(path, Load::kAll); });
  EXPECT_ERROR_AT(error, (path / kManifestName).string(), "\"config.json\"");
}

// Written in slices, out of order, it is the checkpoint that one process writes, byte for byte.
TEST(SharedCheckpoint, IsTheOneThatOneProcessWrites) {
  const TemporaryFolder folder;
  Checkpoint whole = example_checkpoint(7);
  whole.optimizer["a"] = torch::randn({5, 7});
  const auto one = save_checkpoint(folder.path() / "one", whole);
  TensorShapes shapes;
  for (const auto& [name, tensor] : whole.optimizer) shapes[name] = tensor.sizes().vec();
  Checkpoint shared = whole;
  shared.optimizer.clear();
  const auto begun = begin_checkpoint(folder.path() / "two", 7, shapes);
  EXPECT_FALSE(newest_valid_checkpoint(folder.path() / "two"));
  const torch::Tensor a = whole.optimizer["a"].flatten();
  write_optimizer(begun, shapes, {{"a", 13, a.narrow(0, 13, 22)}});
  write_optimizer(begun, shapes,
                  {{"head.weight.first", 0, whole.optimizer["head.weight.first"]},
                   {"a", 0, a.narrow(0, 0, 13)}});
  const auto two = save_checkpoint(folder.path() / "two", shared, begun);
  for (const char* file : {"manifest.json", "optimizer.safetensors"})
    EXPECT_EQ(read_file(one / file), read_file(two / file)) << file;
  EXPECT_TRUE(checkpoint_faults(two).empty());
}

}  // namespace
}  // namespace alibi
