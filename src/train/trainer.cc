#include "train/trainer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/strings.h"
#include "checkpoint/load_model.h"
#include "config/load.h"
#include "device/device.h"
#include "device/memory.h"
#include "evaluate/score.h"
#include "train/start_from.h"

namespace alibi {
namespace {

constexpr const char* kValidationLoss = "validation_loss";  // in the log

Gpt build_model(const TrainerParts& parts) {
  const Config& c = parts.config;
  Gpt model(c.model, parts.text.tokenizer.vocabulary(), activation_type(c.runtime.precision),
            c.runtime.attention);
  if (c.initialize.from.empty())
    model->initialize(static_cast<std::uint64_t>(c.run.seed), *c.initialize.standard_deviation);
  model->to(parts.device);
  return model;
}

// Of a log, what a resumed run does not write again.
LastLine last_line(const std::optional<Checkpoint>& resume) {
  if (!resume) return {-1};
  const bool validated = resume->progress.validated_step == resume->progress.step;
  return {resume->progress.step, validated ? "" : kValidationLoss};
}

// What was logged before the checkpoint and is not there any more harms no weights, but curves.
void warn_of_lost_lines(const TrainerParts& parts, const KeptLines& kept, const Progress& then,
                        std::int64_t logged_every) {
  const std::string log = parts.folder.log().string();
  if (kept.damaged > 0)
    log_warning(cat(log, ": ", kept.damaged, " damaged lines were left out of it"));
  // A line is due where the tokens pass a multiple of run.log_every_tokens; 0: at each step. That
  // key may be another now than when the lines were written.
  const std::int64_t tokens = batch_shape(parts.config.batch).tokens();
  const std::int64_t every = std::max({tokens, parts.config.run.log_every_tokens, logged_every});
  if (kept.last_step * tokens / every >= then.tokens / every) return;
  log_warning(cat(log, ": ends at step ", kept.last_step, ", the checkpoint is of step ", then.step,
                  ": the lines between are lost (training goes on; curves will have a gap)"));
}

std::filesystem::path log_to_go_on_with(const TrainerParts& parts,
                                        const std::optional<Checkpoint>& resume) {
  const KeptLines kept = truncate_after_step(parts.folder.log(), last_line(resume));
  if (resume) {
    const Config before = parse_config(resume->config_json, "config.json of the checkpoint");
    warn_of_lost_lines(parts, kept, resume->progress, before.run.log_every_tokens);
  }
  return parts.folder.log();
}

}  // namespace

Trainer::Trainer(const TrainerParts& parts, const std::optional<Checkpoint>& resume, Sink sink)
    : parts_(parts),
      sink_(std::move(sink)),
      model_(build_model(parts)),
      parameters_(model_->parameters()),
      optimizer_(named_parameters(*model_), parts.config.optimizer),
      reader_(parts.text.train, parts.config.batch,
              static_cast<std::uint64_t>(parts.config.run.seed),
              parts.config.data.separate_documents),
      loader_([this](std::int64_t step) { return reader_.read(step); }),
      log_(log_to_go_on_with(parts, resume)),
      identity_(run_identity(parts.config, parts.text.data_hash)),
      validation_(sample_tokens(parts.text.valid, {.window = batch_shape(parts.config.batch).length,
                                                   .most = parts.config.run.validation_tokens})),
      saver_(parts.folder.checkpoints(), parts.config.run.save_in_background) {
  if (resume) {
    copy_weights(resume->weights, *model_, "checkpoint to resume");
    optimizer_.load_state(resume->optimizer);
    progress_ = resume->progress;
    saved_step_ = progress_.step;
    take_changes(*resume);
  } else if (!parts.config.initialize.from.empty()) {
    initialize_from_source();
  }
  progress_.threads = torch::get_num_threads();
  const std::string before = std::exchange(progress_.arithmetic, arithmetic());
  if (!before.empty() && before != progress_.arithmetic) {
    log_warning(cat("this run was computed by ", before, " and goes on by ", progress_.arithmetic,
                    ": the last bits of its weights will not be those of an uninterrupted run"));
  }
  const std::int64_t most = parts.most_micro_batch_tokens;
  if (most > 0 && most < micro_batch_tokens()) progress_.micro_batch_tokens = most;
}

// What decides the last bits beside the number of threads and the micro batch.
std::string Trainer::arithmetic() const {
  const BatchShape shape = batch_shape(parts_.config.batch);
  static constexpr std::array<const char*, 3> kSkips = {"exact", "epsilon", "off"};
  const auto skip = static_cast<std::size_t>(parts_.config.runtime.attention.skip);
  return cat(describe_arithmetic(parts_.device), ", attention ",
             model_->attention_kernel(shape.rows, shape.length, parts_.device, true), ", skip ",
             kSkips[skip]);
}

int Trainer::run() {
  if (progress_.finished && done()) return 0;  // a constant schedule's end may move
  rehearse();
  if (progress_.validated_step < progress_.step) validate();  // a signal had cut it off
  while (!done() && stop_signal() == 0) {
    const std::int64_t before = progress_.tokens;
    report(step());
    log_changes();
    const bool due = crosses(*parts_.config.run.evaluate_every_tokens, before) || done();
    if (!due || validate()) progress_.validated_step = progress_.step;
    if (crosses(*parts_.config.run.save_every_tokens, before)) save();
    collect(false);
  }
  collect(true);
  progress_.finished = done() && progress_.validated_step == progress_.step;
  if (saved_step_ != progress_.step || progress_.finished) {
    save();
    if (const auto folder = saver_.finish()) tell(SaveEvent{progress_.step, folder->string()});
  }
  return progress_.finished ? 0 : stop_signal();
}

void Trainer::report(const StepEvent& event) {
  const std::int64_t every = parts_.config.run.log_every_tokens;
  const std::int64_t step_tokens = event.tokens / event.step;
  const bool taken = event.judgement.verdict == Verdict::kTake;
  if (every == 0 || crosses(every, event.tokens - step_tokens) || !taken || done()) {
    JsonFields fields = {{"step", event.step},
                         {"tokens", event.tokens},
                         {"loss", event.loss},
                         {"learning_rate", event.learning_rate},
                         {"gradient_norm", event.gradient_norm},
                         {"seconds", event.seconds}};
    if (!taken) {
      std::vector<std::int64_t> starts;
      for (std::int64_t i = 0; i < parts_.config.batch.sequences; ++i)
        starts.push_back(
            reader_.window_start((event.step - 1) * parts_.config.batch.sequences + i));
      fields.emplace_back("skipped", event.judgement.reason);
      fields.emplace_back("window_starts", std::move(starts));
    }
    if (event.rolled_back_to >= 0) {
      fields.emplace_back("rolled_back_to", event.rolled_back_to);
      fields.emplace_back("left_out_steps",
                          std::vector<std::int64_t>{event.rolled_back_to + 1, event.step});
    }
    write_log(fields);
  }
  tell(event);
}

// Nothing where a signal came before all was scored. What does not fit into memory is scored again
// in smaller batches.
std::optional<double> Trainer::validation_loss() {
  struct Stopped {};
  const Config& c = parts_.config;
  const std::int64_t length = batch_shape(c.batch).length;
  const auto windows = windows_of(Protocol::kNonOverlapping, validation_, length, 0);
  ScoringOptions options;
  options.batch_tokens = micro_batch_tokens();
  options.chunk_rows = c.runtime.loss_chunk_rows;
  options.separate_documents = c.data.separate_documents;
  options.end = parts_.text.tokenizer.end();
  options.device = parts_.device;
  options.progress = [](std::int64_t) {
    if (stop_signal() != 0) throw Stopped();
  };
  for (;; options.batch_tokens /= 2) {
    try {
      return mean_of(scored_losses(validation_, score(model_, validation_.ids, windows, options)));
    } catch (const Stopped&) {
      return std::nullopt;
    } catch (const std::exception& error) {
      if (!is_out_of_memory(error) || options.batch_tokens <= length) throw;
    }
  }
}

// False where it was cut off: the run that goes on makes it.
bool Trainer::validate() {
  if (!validation_.scores_anything()) return true;
  const std::optional<double> loss = validation_loss();
  if (!loss) return false;
  const bool best = *loss < progress_.best_validation_loss;
  if (best) {
    progress_.best_validation_loss = *loss;
    progress_.best_step = progress_.step;
    progress_.evaluations_without_improvement = 0;
  } else {
    ++progress_.evaluations_without_improvement;
  }
  progress_.validated_step = progress_.step;
  write_log({{"step", progress_.step},
             {"tokens", progress_.tokens},
             {kValidationLoss, *loss},
             {"best", best},
             {"peak_memory_bytes", peak_memory_bytes(parts_.device)}});
  tell(ValidationEvent{progress_.step, progress_.tokens, *loss, best});
  if (best && !done()) save();
  return true;
}

void Trainer::save() {
  if (saved_step_ == progress_.step && !progress_.finished) return;
  collect(true);
  parts_.folder.check_lock();
  let_fail([&] { log_.sync(); });
  KeptSteps kept{parts_.config.run.keep_checkpoints, {progress_.best_step}, progress_.step};
  if (parts_.config.guard.rolls_back()) kept.these_steps.push_back(rollback_step());
  Checkpoint checkpoint{config_json(parts_.config),
                        parts_.text.tokenizer.model(),
                        identity_,
                        parts_.text.data_hash,
                        progress_,
                        weights_of(*model_),
                        optimizer_.state()};
  if (is_ruined(checkpoint)) return;
  saver_.save(std::move(checkpoint), kept);
  saved_step_ = progress_.step;
}

// Numbers that are not finite got past the guard, as by a bit that flipped in memory. They are not
// saved; the next step shows them to the guard, which rolls back where it is told to.
bool Trainer::is_ruined(const Checkpoint& checkpoint) {
  auto name = first_not_finite(checkpoint.weights);
  if (!name) name = first_not_finite(checkpoint.optimizer);
  if (!name) return false;
  const Error error(cat("step ", progress_.step),
                    cat("tensor ", *name, " holds numbers that are not finite, so it is not saved"),
                    "the checkpoints before are whole: run again with --resume");
  if (parts_.config.guard.non_finite != NonFinite::kRollBack || done() || stop_signal() != 0)
    throw error;
  tell(SaveFailedEvent{error.what()});
  return true;
}

// Tells of a save that has ended since the last call. A failed one ends the run, or, by
// guard.failed_save, is made good by the next.
void Trainer::collect(bool wait) {
  const bool fine = let_fail([&] {
    const auto folder = wait ? saver_.finish() : saver_.committed();
    if (folder) tell(SaveEvent{saved_step_, folder->string()});
  });
  if (!fine) saved_step_ = -1;
}

// False where the write failed and guard.failed_save lets the run go on.
bool Trainer::let_fail(const std::function<void()>& write) {
  try {
    write();
    return true;
  } catch (const std::exception& error) {
    if (parts_.config.guard.failed_save == FailedSave::kStop) throw;
    tell(SaveFailedEvent{error.what()});
    return false;
  }
}

void Trainer::write_log(const JsonFields& fields) {
  let_fail([&] { log_.append(fields); });
}

void Trainer::tell(const Event& event) const {
  if (sink_) sink_(event);
}

bool Trainer::crosses(std::int64_t every_tokens, std::int64_t before) const {
  return progress_.tokens / every_tokens > before / every_tokens;
}

std::int64_t Trainer::total_steps() const {
  const std::int64_t tokens = batch_shape(parts_.config.batch).tokens();
  return (parts_.config.run.train_tokens + tokens - 1) / tokens;
}

bool Trainer::done() const {
  const std::int64_t patience = parts_.config.run.patience;
  return progress_.step >= total_steps() ||
         (patience > 0 && progress_.evaluations_without_improvement >= patience);
}

void Trainer::start_over() {
  copy_weights(weights_of(*build_model(parts_)), *model_, "initial weights");
  if (!parts_.config.initialize.from.empty()) initialize_from_source();
  optimizer_.reset();
}

// Keys that --resume takes another value for. A finished run has no step left that they could hold
// for.
void Trainer::take_changes(const Checkpoint& resume) {
  const Config before = parse_config(resume.config_json, "config.json of the checkpoint");
  for (const ConfigDifference& key : identity_differences(before, parts_.config)) {
    if (progress_.finished && done()) {
      throw usage_error(key.pointer,
                        cat("this run is finished, with ", key.first, "; now it is ", key.second),
                        "resume with the old value, or choose another run.folder");
    }
    changes_.push_back(cat(key.pointer, ": ", key.second, ", was ", key.first));
    log_info(cat("note: from step ", progress_.step + 1, " on ", changes_.back()));
    if (key.pointer == "/batch/micro_batch_tokens") progress_.micro_batch_tokens = 0;
  }
}

// Together with the first step that they hold for: a run killed before it is saved has not changed.
void Trainer::log_changes() {
  for (const std::string& change : std::exchange(changes_, {}))
    write_log({{"step", progress_.step}, {"changed", change}});
}

void Trainer::initialize_from_source() {
  const Start start = start_from(parts_.config, parts_.text.tokenizer);
  copy_weights(start.weights, *model_, parts_.config.initialize.from);
  if (!start.surgery.empty())
    log_info(cat("initialize.from ", parts_.config.initialize.from, ": ", start.surgery));
}

}  // namespace alibi
