#include "train/checkpointer.h"

#include "base/error.h"
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
  Checkpoint checkpoint = state_.checkpoint();
  const Progress& progress = state_.progress;
  saved_step_ = progress.step;
  if (!agreement_.world().is_first()) return;
  folder_.check_lock();
  emitter_.sync();
  KeptSteps kept{config_.run.keep_checkpoints, {progress.best_step}, progress.step};
  if (config_.guard.rolls_back())
    kept.these_steps.push_back(newest_due_save(config_, progress.tokens));
  if (may_save(checkpoint, steps_follow)) {
    saver_.save(std::move(checkpoint), kept);
  } else {
    saved_step_ = -1;
  }
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
  if (!name) name = first_not_finite(checkpoint.optimizer);
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
    if (folder) emitter_.emit(SaveRecord{saved_step_, folder->string()});
  });
  if (!fine) saved_step_ = -1;
}

}  // namespace alibi
