#include "checkpoint/saver.h"

#include <exception>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/strings.h"
#include "device/libtorch.h"
#include "device/memory.h"

namespace alibi {
namespace {

// Makes `copy` hold what `source` holds, in CPU memory of its own.
void copy_tensors(const Tensors& source, Tensors& copy) {
  const torch::NoGradGuard guard;
  std::erase_if(copy, [&](const auto& entry) { return !source.contains(entry.first); });
  for (const auto& [name, tensor] : source) {
    torch::Tensor& mine = copy[name];
    if (!mine.defined() || mine.sizes() != tensor.sizes() || mine.dtype() != tensor.dtype())
      mine = torch::empty(tensor.sizes(), torch::TensorOptions().dtype(tensor.dtype()));
    mine.copy_(tensor);
  }
}

}  // namespace

CheckpointSaver::CheckpointSaver(std::filesystem::path checkpoints_folder, bool in_background)
    : folder_(std::move(checkpoints_folder)), in_background_(in_background) {}

CheckpointSaver::~CheckpointSaver() {
  try {
    finish();
  } catch (const std::exception& error) {
    log_warning(error.what());
  }
}

void CheckpointSaver::save(Checkpoint checkpoint, const KeptSteps& keep,
                           const std::filesystem::path& begun) {
  work_.wait();
  const bool copied = in_background_ && copy(checkpoint);
  pending_ = true;
  work_.start(copied,
              [this, keep, begun, mine = std::make_shared<Checkpoint>(std::move(checkpoint))] {
                const double start = seconds_now();
                result_ = save_checkpoint(folder_, *mine, begun);
                try {
                  rotate_checkpoints(folder_, keep);
                } catch (const Error& error) {  // what was to be saved is saved
                  log_warning(cat("older checkpoints stay: ", error.what()));
                }
                seconds_ = seconds_now() - start;
              });
}

// False where memory is too short for it: the save is then made at once, out of the tensors
// themselves.
bool CheckpointSaver::copy(Checkpoint& checkpoint) {
  try {
    copy_tensors(checkpoint.weights, weights_);
    copy_tensors(checkpoint.optimizer, optimizer_);
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    weights_.clear();
    optimizer_.clear();
    return false;
  }
  checkpoint.weights = weights_;
  checkpoint.optimizer = optimizer_;
  return true;
}

std::optional<std::filesystem::path> CheckpointSaver::committed() {
  return work_.is_running() ? std::nullopt : finish();
}

std::optional<std::filesystem::path> CheckpointSaver::finish() {
  const bool reported = !std::exchange(pending_, false);
  work_.wait();
  return reported ? std::nullopt : std::optional(result_);
}

}  // namespace alibi
