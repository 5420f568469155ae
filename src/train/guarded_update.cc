#include "train/guarded_update.h"

#include "base/strings.h"
#include "train/due.h"
#include "train/optimizer/optimizer.h"

namespace alibi {
namespace {

Error stopped_at(std::int64_t step, const std::string& reason) {
  return {cat("step ", step), reason,
          "the weights were not touched; go on with --resume and a lower "
          "optimizer.learning_rate, or guard.non_finite or guard.spikes set to \"skip\" or "
          "\"roll_back\""};
}

Error too_often(std::int64_t step, const std::string& reason, const std::string& what) {
  return {cat("step ", step), cat(reason, "; ", what),
          "go on with --resume and a lower optimizer.learning_rate, or look at the text of the "
          "batches in the log"};
}

}  // namespace

GuardedUpdate::GuardedUpdate(const Config& config, const RunFolder& folder, TrainState& state,
                             GradientExchange& exchange, Agreement& agreement,
                             Checkpointer& checkpointer)
    : config_(config),
      folder_(folder),
      state_(state),
      exchange_(exchange),
      agreement_(agreement),
      checkpointer_(checkpointer) {}

std::optional<Error> GuardedUpdate::apply(StepRecord& record) {
  const Judgement judgement =
      judge_step(config_.guard, record.loss, record.gradient_norm,
                 {state_.progress.recent_losses, state_.progress.recent_gradient_norms});
  record.skipped = judgement.reason;
  if (auto error = end_of_run(record.step, judgement)) return error;
  if (judgement.verdict == GuardVerdict::kTake) update(record);
  if (judgement.verdict == GuardVerdict::kSkip) skip();
  if (judgement.verdict == GuardVerdict::kRollBack) roll_back(record);
  return std::nullopt;
}

std::optional<Error> GuardedUpdate::end_of_run(std::int64_t step,
                                               const Judgement& judgement) const {
  const std::int64_t skips = config_.guard.max_consecutive_skips,
                     rollbacks = config_.guard.max_rollbacks;
  if (judgement.verdict == GuardVerdict::kStop) return stopped_at(step, judgement.reason);
  if (judgement.verdict == GuardVerdict::kSkip && state_.progress.skipped_in_a_row >= skips) {
    return too_often(
        step, judgement.reason,
        cat("the ", skips,
            " steps before were skipped, expected no more (guard.max_consecutive_skips)"));
  }
  if (judgement.verdict == GuardVerdict::kRollBack && state_.progress.rollbacks >= rollbacks) {
    return too_often(
        step, judgement.reason,
        cat(rollbacks, " rollbacks were made before, expected no more (guard.max_rollbacks)"));
  }
  return std::nullopt;
}

void GuardedUpdate::update(const StepRecord& record) {
  clip_gradients(exchange_.gradients(), record.gradient_norm, config_.optimizer.clip_norm);
  state_.optimizer.update(exchange_.gradients(), record.step - state_.progress.skipped_steps,
                          record.learning_rate);
  exchange_.share_parameters();
  state_.progress.skipped_in_a_row = 0;
}

void GuardedUpdate::skip() {
  ++state_.progress.skipped_in_a_row;
  ++state_.progress.skipped_steps;
}

// Weights, optimizer and the guard's window become those of an earlier step; the batches since then
// are left out, this step's with them, and the count of steps and tokens goes on.
void GuardedUpdate::roll_back(StepRecord& record) {
  checkpointer_.wait();               // then all ranks read the same checkpoint
  World& world = agreement_.world();  // a disk may take longer than ranks wait for each other
  Progress then;
  std::optional<Checkpoint> checkpoint;
  world.while_others_wait([&] { checkpoint = rollback_checkpoint(); });
  // A rank that cannot read the newest goes further back, and all with it.
  const std::int64_t own = checkpoint ? checkpoint->progress.step : 0;
  const std::int64_t step = agreement_.least(own);
  if (step == 0) checkpoint.reset();
  world.while_others_wait([&] {
    if (step < own && step > 0)
      checkpoint = load_checkpoint(checkpoint_path(folder_.checkpoints(), step), Load::kAll);
    if (!checkpoint) return state_.reset_tensors();
    state_.load_tensors(*checkpoint);
    then = checkpoint->progress;
  });
  record.rolled_back_to = then.step;
  record.left_out_steps = {then.step + 1, record.step};
  Progress& progress = state_.progress;
  ++progress.rollbacks;
  progress.skipped_steps = record.step - (then.step - then.skipped_steps);
  progress.skipped_in_a_row = 0;
  progress.recent_losses = then.recent_losses;
  progress.recent_gradient_norms = then.recent_gradient_norms;
}

// Where that checkpoint is missing (a save that failed) or damaged, the newest whole one; nothing
// where there is none.
std::optional<Checkpoint> GuardedUpdate::rollback_checkpoint() const {
  const std::int64_t step = newest_due_save(config_, state_.progress.tokens);
  if (step == 0) return std::nullopt;
  try {
    return load_checkpoint(checkpoint_path(folder_.checkpoints(), step), Load::kAll);
  } catch (const Error&) {
    const auto newest = newest_valid_checkpoint(folder_.checkpoints());
    if (!newest) return std::nullopt;
    return load_checkpoint(*newest, Load::kAll);
  }
}

}  // namespace alibi
