// One step: read, forward, backward, judge, update; what happens when the guard refuses it, and
// when memory runs out.
#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "base/strings.h"
#include "checkpoint/load_model.h"
#include "device/memory.h"
#include "loss/cross_entropy.h"
#include "optimizer/clip.h"
#include "optimizer/schedule.h"
#include "train/trainer.h"

namespace alibi {
namespace {

constexpr std::int64_t kRehearsed = 256;  // positions; a multiple of every tile

// Rows first .. first + count - 1 of a batch as an int64 tensor (count, T).
torch::Tensor slice(std::vector<std::int64_t>& values, const Batch& batch, std::int64_t first,
                    std::int64_t count, torch::Device device) {
  return torch::from_blob(values.data() + first * batch.length, {count, batch.length}, torch::kLong)
      .to(device);
}

// The largest number of rows that divides `rows` and is at most `wanted`, at least 1.
std::int64_t divisor_up_to(std::int64_t rows, std::int64_t wanted) {
  for (std::int64_t count = std::clamp<std::int64_t>(wanted, 1, rows);; --count) {
    if (rows % count == 0) return count;
  }
}

[[noreturn]] void stop_at(std::int64_t step, const std::string& reason) {
  throw Error(cat("step ", step), reason,
              "the weights were not touched; go on with --resume and a lower "
              "optimizer.learning_rate, or guard.non_finite or guard.spikes set to \"skip\" or "
              "\"roll_back\"");
}

[[noreturn]] void too_often(std::int64_t step, const std::string& reason, const std::string& what) {
  throw Error(cat("step ", step), cat(reason, "; ", what),
              "go on with --resume and a lower optimizer.learning_rate, or look at the text of the "
              "batches in the log");
}

[[noreturn]] void out_of_memory_at(std::int64_t step, std::int64_t length) {
  throw Error(cat("step ", step),
              cat("one sequence of ", length, " tokens does not fit into memory"),
              "the checkpoints saved before stay; set runtime.recompute to \"blocks\", or make "
              "model, vocabulary or trained length smaller");
}

}  // namespace

StepEvent Trainer::step() {
  const double start = seconds_now();
  const Config& c = parts_.config;
  StepEvent event;
  event.step = progress_.step + 1;
  // 1. Read.
  Batch batch = loader_.take(progress_.step);
  event.tokens = progress_.tokens + batch.rows * batch.length;
  // 2. Forward and 3. backward, micro batch by micro batch.
  event.loss = forward_backward_in_memory(batch);
  // 4. Mean: micro batches are equal, so their share went into each loss.
  event.gradient_norm = gradient_norm(parameters_);
  event.learning_rate =
      learning_rate(c.schedule, c.optimizer.learning_rate, c.run.train_tokens, event.tokens);
  // 5. Update, where the guard lets it pass.
  event.judgement = judge_step(c.guard, event.loss, event.gradient_norm,
                               {progress_.recent_losses, progress_.recent_gradient_norms});
  event.seconds = seconds_now() - start;
  switch (event.judgement.verdict) {
    case Verdict::kTake:
      clip_gradients(parameters_, event.gradient_norm, c.optimizer.clip_norm);
      optimizer_.update(event.step - progress_.skipped_steps, event.learning_rate);
      progress_.skipped_in_a_row = 0;
      break;
    case Verdict::kSkip:
      skip(event);
      break;
    case Verdict::kRollBack:
      roll_back(event);
      break;
    case Verdict::kStop:
      // The log has the step that ends the run, and its windows; but a run that ends with its first
      // leaves nothing behind: the corrected command must not be refused.
      if (progress_.step > 0) report(event);
      stop_at(event.step, event.judgement.reason);
  }
  progress_.step = event.step;
  progress_.tokens = event.tokens;
  event.seconds = seconds_now() - start;
  return event;
}

// A step that does not fit into memory is done again, whole, in micro batches of half the size:
// what comes out is what a run would give that had this size from the step before.
double Trainer::forward_backward_in_memory(Batch& batch) {
  while (true) {
    optimizer_.zero_gradients();
    try {
      return forward_backward(batch);
    } catch (const std::exception& error) {
      if (!is_out_of_memory(error)) throw;
      if (!shrink_micro_batch(batch)) out_of_memory_at(progress_.step + 1, batch.length);
    }
    tell(MicroBatchEvent{progress_.step + 1, progress_.micro_batch_tokens});
  }
}

bool Trainer::shrink_micro_batch(const Batch& batch) {
  const std::int64_t rows = rows_of_part(batch);
  if (rows == 1) return false;
  progress_.micro_batch_tokens = divisor_up_to(batch.rows, rows / 2) * batch.length;
  return true;
}

std::int64_t Trainer::micro_batch_tokens() const {
  return progress_.micro_batch_tokens > 0 ? progress_.micro_batch_tokens
                                          : *parts_.config.batch.micro_batch_tokens;
}

std::int64_t Trainer::rows_of_part(const Batch& batch) const {
  return divisor_up_to(batch.rows, micro_batch_tokens() / batch.length);
}

double Trainer::forward_backward(Batch& batch) {
  const Config& c = parts_.config;
  const std::int64_t rows = rows_of_part(batch);
  const std::int64_t parts = batch.rows / rows;
  const RandomKey random = RandomKey{static_cast<std::uint64_t>(c.run.seed)}.with("dropout");
  const std::int64_t learned = batch.learned();
  LossOptions mean{.chunk_rows = c.runtime.loss_chunk_rows, .z_loss = c.guard.z_loss};
  mean.divisor = std::max(1.0, static_cast<double>(learned)) / static_cast<double>(parts);
  mean.left_out = learned < std::ssize(batch.targets);
  double loss = 0;
  for (std::int64_t part = 0; part < parts; ++part) {
    ForwardOptions options;
    options.training = true;
    options.recompute = c.runtime.recompute == Recompute::kBlocks;
    options.random = random.with(static_cast<std::uint64_t>(progress_.step))
                         .with(static_cast<std::uint64_t>(part));
    if (!batch.document_starts.empty()) {
      options.document_start_BT =
          slice(batch.document_starts, batch, part * rows, rows, parts_.device);
    }
    const torch::Tensor hidden_BTC =
        model_->hidden(slice(batch.inputs, batch, part * rows, rows, parts_.device), options);
    const torch::Tensor targets_BT = slice(batch.targets, batch, part * rows, rows, parts_.device);
    const TrainingLoss of_part =
        training_loss(hidden_BTC.flatten(0, 1), model_->head_VC(), targets_BT.flatten(), mean);
    (of_part.objective / parts).backward();
    loss += of_part.cross_entropy.item<double>() / static_cast<double>(parts);
  }
  return loss;
}

// A short row forward and backward, of which nothing stays: the library compiles kernels at their
// first use, and dies of it where memory is short, as at the height of the first step.
void Trainer::rehearse() {
  const std::int64_t length = batch_shape(parts_.config.batch).length;
  Batch batch;
  batch.rows = 1;
  batch.length = length <= kRehearsed ? length : kRehearsed + length % kRehearsed;
  batch.inputs.assign(static_cast<std::size_t>(batch.length), 0);
  batch.targets = batch.inputs;
  try {
    forward_backward(batch);
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
  }
  optimizer_.zero_gradients();
}

// The newest step before this one at which a save was due: saves for other reasons (a best
// validation, a signal) come at moments that differ between a run and its resumption.
std::int64_t Trainer::rollback_step() const {
  const std::int64_t tokens = batch_shape(parts_.config.batch).tokens();
  const std::int64_t due = progress_.tokens / *parts_.config.run.save_every_tokens;
  return (due * *parts_.config.run.save_every_tokens + tokens - 1) / tokens;
}

// Where that checkpoint is missing (a save that failed) or damaged, the newest whole one; nothing
// where there is none.
std::optional<Checkpoint> Trainer::rollback_checkpoint() const {
  const std::int64_t step = rollback_step();
  if (step == 0) return std::nullopt;
  const std::filesystem::path all = parts_.folder.checkpoints();
  try {
    return load_checkpoint(checkpoint_path(all, step), Load::kAll);
  } catch (const Error&) {
    const auto newest = newest_valid_checkpoint(all);
    if (!newest) return std::nullopt;
    return load_checkpoint(*newest, Load::kAll);
  }
}

void Trainer::skip(const StepEvent& event) {
  const std::int64_t most = parts_.config.guard.most_skips;
  if (++progress_.skipped_in_a_row > most) {
    report(event);
    too_often(event.step, event.judgement.reason,
              cat("the ", most, " steps before were skipped, expected no more (guard.most_skips)"));
  }
  ++progress_.skipped_steps;
}

// Weights, moments and the guard's window become those of an earlier step; the batches since then
// are left out, this step's with them, and the count of steps and tokens goes on.
void Trainer::roll_back(StepEvent& event) {
  const std::int64_t most = parts_.config.guard.most_rollbacks;
  if (++progress_.rollbacks > most) {
    report(event);
    too_often(event.step, event.judgement.reason,
              cat(most, " rollbacks were made before, expected no more (guard.most_rollbacks)"));
  }
  collect(true);
  Progress then;
  if (const auto checkpoint = rollback_checkpoint()) {
    copy_weights(checkpoint->weights, *model_, "checkpoint to roll back to");
    optimizer_.load_state(checkpoint->optimizer);
    then = checkpoint->progress;
  } else {
    start_over();
  }
  event.rolled_back_to = then.step;
  progress_.skipped_steps = event.step - (then.step - then.skipped_steps);
  progress_.skipped_in_a_row = 0;
  progress_.recent_losses = then.recent_losses;
  progress_.recent_gradient_norms = then.recent_gradient_norms;
}

}  // namespace alibi
