#include "train/checkpointer.h"

#include <exception>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/stop.h"
#include "base/strings.h"
#include "train/due.h"

namespace alibi {

Checkpointer::Checkpointer(const Config& config, const RunFolder& folder, TrainState& state,
                           Agreement& agreement, Emitter& emitter, bool is_saved)
    : config_(config),
      folder_(folder),
      state_(state),
      agreement_(agreement),
      emitter_(emitter),
      saved_step_(is_saved ? state.progress.step : -1),
      saver_(folder.checkpoints(), config.run.save_in_background) {}

void Checkpointer::save(bool steps_follow) {
  if (!needs_save()) return;
  wait();
  const double start = seconds_now();
  Checkpoint checkpoint = state_.checkpoint();
  const Progress& progress = state_.progress;
  const bool is_first = agreement_.world().is_first();
  agreement_.world().while_others_wait([&] {
    if (!is_first) return;
    folder_.check_lock();
    emitter_.sync();
  });
  std::filesystem::path begun;  // where ranks have written what they share
  const bool fine = may_save(checkpoint, steps_follow) &&
                    (!state_.shares_optimizer() || write_shares(begun, steps_follow));
  saved_step_ = fine ? progress.step : -1;
  if (!fine) return;
  KeptSteps kept{config_.run.keep_checkpoints, {progress.best_step}, progress.step};
  if (config_.guard.rolls_back())
    kept.these_steps.push_back(newest_due_save(config_, progress.tokens));
  share_seconds_ = seconds_now() - start;
  agreement_.world().while_others_wait([&] {
    if (is_first) saver_.save(std::move(checkpoint), kept, begun);
  });
}

// A disk may take longer than ranks wait for each other.
void Checkpointer::wait() {
  agreement_.world().while_others_wait([&] { collect(true); });
}

// What went wrong on one rank goes wrong on all. Where no step follows no later save makes it good.
bool Checkpointer::write_shares(std::filesystem::path& begun, bool steps_follow) {
  World& world = agreement_.world();
  const TensorShapes shapes = state_.optimizer_shapes();
  std::string failure;
  const auto attempt = [&](const auto& write) {
    try {
      write();
    } catch (const std::exception& error) {
      failure = error.what();
    }
  };
  world.while_others_wait([&] {
    if (!world.is_first()) return;
    attempt([&] { begun = begin_checkpoint(folder_.checkpoints(), state_.progress.step, shapes); });
  });
  const std::string name = world.gather(begun.filename().string()).front();
  if (!name.empty()) begun = folder_.checkpoints() / name;  // as this rank sees it
  world.while_others_wait([&] {
    if (!begun.empty()) attempt([&] { write_optimizer(begun, shapes, state_.optimizer_slices()); });
  });
  const std::vector<std::string> failures = world.gather(failure);
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    if (failures[rank].empty()) continue;
    if (world.is_first() && !begun.empty()) remove_tree(begun);
    const Error error(cat("rank ", rank), failures[rank]);
    if (!steps_follow) throw error;
    return emitter_.attempt([&] { throw error; });
  }
  return true;
}

// A failed save is known to the first rank alone.
bool Checkpointer::needs_save() {
  return agreement_.as_first(saved_step_ != state_.progress.step || state_.progress.finished);
}

void Checkpointer::save_last() {
  save(false);
  if (const auto folder = saver_.finish())
    emitter_.emit(SaveRecord{state_.progress.step, folder->string()});
}

// Numbers that are not finite got past the guard, as by a bit that flipped in memory. They are not
// saved; the next step, where one follows, shows them to the guard, which may roll back.
bool Checkpointer::may_save(const Checkpoint& checkpoint, bool steps_follow) {
  auto name = first_not_finite(checkpoint.weights);
  if (!name) name = first_not_finite(state_.optimizer.state());
  for (const std::string& theirs : agreement_.world().gather(name.value_or("")))
    if (!theirs.empty()) name = theirs;
  if (!name) return true;
  const Error error(cat("step ", state_.progress.step),
                    cat("tensor ", *name, " holds numbers that are not finite, so it is not saved"),
                    "the checkpoints before are whole: run again with --resume");
  if (config_.guard.non_finite != NonFinite::kRollBack || !steps_follow ||
      agreement_.stop_signal() != 0)
    throw error;
  emitter_.emit(SaveFailure{error.what()});
  return false;
}

void Checkpointer::collect(bool wait) {
  const bool fine = emitter_.attempt([&] {
    const auto folder = wait ? saver_.finish() : saver_.committed();
    if (!folder) return;
    seconds_ = recent_.add(share_seconds_ + saver_.seconds());
    emitter_.emit(SaveRecord{saved_step_, folder->string()});
  });
  if (!fine) saved_step_ = -1;
}

}  // namespace alibi
