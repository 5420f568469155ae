#include "train/trainer.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/stop.h"
#include "device/memory.h"
#include "train/due.h"
#include "train/memory_plan.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/schedule.h"
#include "train/rank_check.h"
#include "train/resume.h"

namespace alibi {
namespace {

DeviceGraphs graphs_of(const TrainerParts& parts) {
  if (parts.graphs) return *parts.graphs;
  DeviceGraphs graphs = graphs_for(parts.config, parts.device);
  const std::string without = graphs_without_effect(parts.config, graphs);
  if (!without.empty()) log_warning(without);
  return graphs;
}

}  // namespace

Trainer::Trainer(const TrainerParts& parts, const std::optional<Checkpoint>& resume)
    : parts_(parts),
      agreement_(parts.world),
      emitter_(parts.config.guard.failed_save),
      state_(parts.config, parts.text, parts.device, parts.world, resume),
      reader_(parts.text.train, parts.config.batch,
              static_cast<std::uint64_t>(parts.config.run.seed),
              parts.config.data.separate_documents),
      loader_([this](std::int64_t step) { return reader_.read(step); }),
      exchange_(parts.world, state_.shards, state_.parameters),
      gradients_(parts.config, parts.device, state_, exchange_, agreement_, emitter_,
                 graphs_of(parts)),
      validator_(parts.config, parts.text, parts.device, state_, agreement_),
      checkpointer_(parts.config, parts.folder, state_, agreement_, emitter_, resume.has_value()),
      update_(parts.config, parts.folder, state_, exchange_, agreement_, checkpointer_),
      pace_(parts.pace) {
  pace_.save = std::max(pace_.save, save_seconds(state_.model->parameter_count()));
  if (resume) {
    out_of_time_ = deadline_holds(parts.config, *resume);
    const bool finished = state_.progress.finished && done();
    changes_ = take_changes(parts.config, *resume, finished, state_.progress);
  }
  if (auto change = note_arithmetic(parts.config, parts.device, state_))
    changes_.push_back(std::move(*change));
  warn_of_other_arithmetic(parts.world, state_.progress.arithmetic);
  const std::int64_t most = agreement_.least(parts.most_micro_batch_tokens);
  if (most > 0 && most < micro_batch_tokens()) state_.progress.micro_batch_tokens = most;
}

int Trainer::run(std::vector<Sink*> sinks) {
  Progress& progress = state_.progress;
  const RunConfig& config = parts_.config.run;
  if (progress.finished && done()) return 0;
  const bool validated = was_validated();
  // The end has moved: of a constant schedule, a deadline, patience. What is saved from here on is
  // a run under way again.
  progress.finished = false;
  emitter_.set_sinks(std::move(sinks));
  gradients_.warm_up();
  if (progress.step > 0) note_time(false);  // a run has one step at least
  if (done() && !validated) progress.validated_step = progress.step - 1;  // the end came to it
  if (progress.validated_step < progress.step && validate(false))         // a signal had cut it off
    progress.validated_step = progress.step;
  while (!done() && agreement_.stop_signal() == 0) {
    const std::int64_t before = progress.tokens;
    const StepRecord record = step();
    emitter_.emit(record);
    emit_changes();
    pace_.step = step_seconds_.add(record.seconds);
    const bool saves = is_due(*config.save_every_tokens, before, progress.tokens);
    note_time(saves);
    const bool validates = is_due(*config.evaluate_every_tokens, before, progress.tokens) || done();
    if (!validates || validate(saves)) progress.validated_step = progress.step;
    if (saves && !done()) checkpointer_.save(true);  // the end has its own
    checkpointer_.collect();
  }
  if (done()) {
    emit_changes();
    emitter_.emit(EndRecord{});
  }
  checkpointer_.wait();
  progress.finished = done() && progress.validated_step == progress.step;
  note_used_time();
  checkpointer_.save_last();
  return progress.finished ? 0 : agreement_.stop_signal();
}

// Read, forward and backward, update where the guard lets it pass.
StepRecord Trainer::step() {
  const double start = seconds_now();
  const Config& c = parts_.config;
  Progress& progress = state_.progress;
  StepRecord record;
  record.step = progress.step + 1;
  const Batch batch = loader_.take(progress.step);
  record.tokens = progress.tokens + batch.rows * batch.length;
  const StepFigures figures = gradients_.compute(batch);
  record.loss = figures.loss;
  record.gradient_norm = figures.gradient_norm;
  record.learning_rate =
      learning_rate(c.schedule, c.optimizer.learning_rate, *c.run.train_tokens, record.tokens);
  const std::optional<Error> error = update_.apply(record);
  if (!record.skipped.empty()) record.window_starts = window_starts(record.step);
  record.seconds = seconds_now() - start;
  if (error) end_at(std::move(record), *error);
  progress.step = record.step;
  progress.tokens = record.tokens;
  return record;
}

// The log has the step that ends the run, and its windows; but a run that ends with its first
// leaves nothing behind: the corrected command must not be refused.
void Trainer::end_at(StepRecord record, const Error& error) {
  if (probes_)
    throw Error(cat("the probe for run.train_seconds, step ", record.step), record.skipped,
                "nothing was written; choose a lower optimizer.learning_rate, or give "
                "run.train_tokens beside run.train_seconds");
  record.ends_run = true;
  if (state_.progress.step > 0) emitter_.emit(record);
  throw Error(error);
}

// The text that a step's batch was read from, for whoever looks for the cause of a skipped step.
std::vector<std::int64_t> Trainer::window_starts(std::int64_t step) const {
  const std::int64_t windows = reader_.windows();
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < windows; ++i)
    starts.push_back(reader_.window_start((step - 1) * windows + i));
  return starts;
}

// Together with the first step that they hold for: a run killed before it is saved has not changed.
void Trainer::emit_changes() {
  for (const std::string& change : std::exchange(changes_, {}))
    emitter_.emit(ChangeRecord{state_.progress.step, change});
}

// False where it was cut off: the run that goes on makes it. `saves`: the step is saved behind it.
bool Trainer::validate(bool saves) {
  if (!validator_.has_text()) return true;
  const double start = seconds_now();
  const auto record = validator_.validate(micro_batch_tokens());
  if (!record) return false;
  emitter_.emit(*record);
  pace_.validation = validation_seconds_.add(seconds_now() - start);  // with what the sinks make
  note_time(saves || record->best);
  if (record->best && !done()) checkpointer_.save(true);
  give_back_idle_memory();
  return true;
}

// A validation's tensors fit badly into the holes that steps leave in the heap, which so grows: not
// beyond what was estimated.
void Trainer::give_back_idle_memory() {
  const MemoryParts estimate = estimate_memory(parts_.config, state_.model->vocabulary(),
                                               micro_batch_tokens(), parts_.world.size());
  if (resident_bytes() > estimate.total()) give_back_freed_memory();
}

bool Trainer::done() const {
  return state_.progress.step >= total_steps(parts_.config) || out_of_time_ ||
         is_out_of_patience(parts_.config, state_.progress);
}

// Of a run that is resumed, whether its step was validated: that was due there, or an end.
bool Trainer::was_validated() const {
  const Progress& progress = state_.progress;
  const std::int64_t before = progress.tokens - batch_shape(parts_.config.batch).tokens();
  return progress.validated_step == progress.step &&
         (progress.finished ||
          is_due(*parts_.config.run.evaluate_every_tokens, before, progress.tokens));
}

// Whether another step, the last validation and the last checkpoint still fit, behind one of this
// step where it `saves`, and an earlier one that is under way. Once they do not, the run is at its
// end, whatever that then takes.
void Trainer::note_time(bool saves) {
  if (!parts_.deadline) return;
  note_used_time();
  if (out_of_time_) return;
  // Not measured yet: per token a forward pass takes a third of a step, and half to be safe.
  const double share = static_cast<double>(validator_.tokens()) /
                       static_cast<double>(batch_shape(parts_.config.batch).tokens());
  const double validation = pace_.validation > 0 ? pace_.validation : pace_.step * share / 2;
  const double save = std::max(pace_.save, checkpointer_.seconds());
  const int saved = 1 + (saves ? 1 : 0) + (checkpointer_.is_saving() ? 1 : 0);
  const double needed = pace_.step + validation + save * saved;
  out_of_time_ = agreement_.as_first(seconds_now() + needed > *parts_.deadline);
}

void Trainer::note_used_time() {
  const auto& budget = parts_.config.run.train_seconds;
  if (!parts_.deadline || !budget) return;
  state_.progress.train_seconds = std::max(0.0, *budget - (*parts_.deadline - seconds_now()));
}

Pace Trainer::probe(double seconds) {
  probes_ = true;
  gradients_.warm_up();
  const double first_step = seconds_now() - built_from_;
  step();  // slower than others: memory is taken for the first time
  std::vector<double> steps;
  for (double start = seconds_now();
       agreement_.as_first(seconds_now() < start + seconds) && agreement_.stop_signal() == 0;)
    steps.push_back(step().seconds);
  if (steps.empty()) steps.push_back(step().seconds);
  const double start = seconds_now();
  if (validator_.has_text()) validator_.validate(micro_batch_tokens());
  const auto of_all = agreement_.gather(
      std::vector<double>{planned_step(steps), seconds_now() - start, first_step}, 3);
  if (const int signal = agreement_.stop_signal(); signal != 0)
    throw stopped_error("the probe for run.train_seconds", signal, "nothing was written");
  return {of_all->at(0), of_all->at(1), pace_.save, of_all->at(2)};
}

}  // namespace alibi
