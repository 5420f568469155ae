#include "train/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "base/stop.h"
#include "base/strings.h"
#include "checkpoint/load_model.h"
#include "config/load.h"
#include "device/device.h"
#include "device/memory.h"
#include "evaluate/score.h"
#include "loss/cross_entropy.h"
#include "optimizer/clip.h"
#include "optimizer/schedule.h"

namespace alibi {
namespace {

Gpt build_model(const TrainerParts& parts) {
  const Config& c = parts.config;
  Gpt model(c.model, parts.text.tokenizer.vocabulary(), activation_type(c.runtime.precision),
            c.runtime.attention);
  if (c.initialize.from.empty())
    model->initialize(static_cast<std::uint64_t>(c.run.seed), *c.initialize.standard_deviation);
  model->to(parts.device);
  return model;
}

std::vector<std::pair<std::string, torch::Tensor>> named(Gpt& model) {
  std::vector<std::pair<std::string, torch::Tensor>> all;
  for (const auto& parameter : model->named_parameters())
    all.emplace_back(parameter.key(), parameter.value());
  return all;
}

// Rows first .. first + count - 1 of a batch as an int64 tensor (count, T).
torch::Tensor slice(std::vector<std::int64_t>& values, const Batch& batch, std::int64_t first,
                    std::int64_t count, torch::Device device) {
  return torch::from_blob(values.data() + first * batch.length, {count, batch.length}, torch::kLong)
      .to(device);
}

}  // namespace

Trainer::Trainer(const TrainerParts& parts, const std::optional<Checkpoint>& resume, Sink sink)
    : parts_(parts),
      sink_(std::move(sink)),
      model_(build_model(parts)),
      parameters_(model_->parameters()),
      optimizer_(named(model_), parts.config.optimizer),
      reader_(parts.text.train, parts.config.batch,
              static_cast<std::uint64_t>(parts.config.run.seed),
              parts.config.data.separate_documents),
      loader_([this](std::int64_t step) { return reader_.read(step); }),
      log_((truncate_after_step(parts.folder.log(), resume ? resume->progress.step : -1),
            parts.folder.log())),
      identity_(run_identity(parts.config, parts.text.data_hash)),
      validation_(sample_tokens(parts.text.valid, {.window = batch_shape(parts.config.batch).length,
                                                   .most = parts.config.run.validation_tokens})) {
  if (resume) {
    copy_weights(resume->weights, *model_, "checkpoint to resume");
    optimizer_.load_state(resume->optimizer);
    progress_ = resume->progress;
    saved_step_ = progress_.step;
  } else if (!parts.config.initialize.from.empty()) {
    initialize_from(parts.config.initialize.from);
  }
}

int Trainer::run() {
  if (progress_.finished && done()) return 0;  // a constant schedule's end may move
  while (!done() && stop_signal() == 0) {
    const std::int64_t before = progress_.tokens;
    report(step());
    if (crosses(*parts_.config.run.evaluate_every_tokens, before) || done()) validate();
    if (crosses(*parts_.config.run.save_every_tokens, before)) save();
  }
  progress_.finished = done();
  if (saved_step_ != progress_.step || progress_.finished) save();
  return done() ? 0 : stop_signal();
}

StepEvent Trainer::step() {
  const double start = seconds_now();
  const Config& c = parts_.config;
  StepEvent event;
  // 1. Read.
  Batch batch = loader_.take(progress_.step);
  // 2. Forward and 3. backward, micro batch by micro batch.
  optimizer_.zero_gradients();
  event.loss = forward_backward(batch);
  // 4. Mean: micro batches are equal, so their share went into each loss.
  event.gradient_norm = gradient_norm(parameters_);
  // 5. Update.
  event.learning_rate = learning_rate(c.schedule, c.optimizer.learning_rate, c.run.train_tokens,
                                      progress_.tokens + batch.rows * batch.length);
  event.skipped = !std::isfinite(event.loss) || !std::isfinite(event.gradient_norm);
  if (event.skipped && c.guard.non_finite == NonFinite::kStop) {
    throw Error(cat("step ", progress_.step + 1),
                cat("loss ", event.loss, " and gradient norm ", event.gradient_norm,
                    ", expected finite numbers"),
                "the weights were not touched; lower optimizer.learning_rate, or set "
                "guard.non_finite to \"skip\"");
  }
  if (event.skipped) {
    ++progress_.skipped_steps;
  } else {
    clip_gradients(parameters_, event.gradient_norm, c.optimizer.clip_norm);
    optimizer_.update(progress_.step + 1 - progress_.skipped_steps, event.learning_rate);
  }
  ++progress_.step;
  progress_.tokens += batch.rows * batch.length;
  event.step = progress_.step;
  event.tokens = progress_.tokens;
  event.seconds = seconds_now() - start;
  return event;
}

double Trainer::forward_backward(Batch& batch) {
  const Config& c = parts_.config;
  const std::int64_t rows = *c.batch.micro_batch_tokens / batch.length;
  const std::int64_t parts = batch.rows / rows;
  const RandomKey random = RandomKey{static_cast<std::uint64_t>(c.run.seed)}.with("dropout");
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
    const torch::Tensor mean = cross_entropy(hidden_BTC.flatten(0, 1), model_->head_VC(),
                                             targets_BT.flatten(), c.runtime.loss_chunk_rows) /
                               parts;
    mean.backward();
    loss += mean.item<double>();
  }
  return loss;
}

void Trainer::report(const StepEvent& event) {
  const std::int64_t every = parts_.config.run.log_every_tokens;
  const std::int64_t step_tokens = event.tokens / event.step;
  if (every == 0 || crosses(every, event.tokens - step_tokens) || event.skipped || done()) {
    JsonFields fields = {{"step", event.step},
                         {"tokens", event.tokens},
                         {"loss", event.loss},
                         {"learning_rate", event.learning_rate},
                         {"gradient_norm", event.gradient_norm},
                         {"seconds", event.seconds}};
    if (event.skipped) fields.emplace_back("skipped", true);
    log_.append(fields);
  }
  if (sink_) sink_(event);
}

void Trainer::validate() {
  if (validation_.runs.empty()) return;
  const Config& c = parts_.config;
  ScoringOptions options;
  options.batch_tokens = *c.batch.micro_batch_tokens;
  options.chunk_rows = c.runtime.loss_chunk_rows;
  options.separate_documents = c.data.separate_documents;
  options.device = parts_.device;
  const std::int64_t length = batch_shape(c.batch).length;
  const auto windows = windows_of(Protocol::kNonOverlapping, validation_, length, 0);
  const double loss =
      mean_of(scored_losses(validation_, score(model_, validation_.ids, windows, options)));
  const bool best = loss < progress_.best_validation_loss;
  if (best) {
    progress_.best_validation_loss = loss;
    progress_.best_step = progress_.step;
    progress_.evaluations_without_improvement = 0;
  } else {
    ++progress_.evaluations_without_improvement;
  }
  log_.append({{"step", progress_.step},
               {"tokens", progress_.tokens},
               {"validation_loss", loss},
               {"best", best},
               {"peak_memory_bytes", peak_memory_bytes(parts_.device)}});
  if (sink_) sink_(ValidationEvent{progress_.step, progress_.tokens, loss, best});
  if (best && !done()) save();
}

void Trainer::save() {
  if (saved_step_ == progress_.step && !progress_.finished) return;
  log_.sync();
  const std::filesystem::path folder =
      save_checkpoint(parts_.folder.checkpoints(),
                      Checkpoint{config_json(parts_.config), parts_.text.tokenizer.model(),
                                 identity_, progress_, weights_of(*model_), optimizer_.state()});
  saved_step_ = progress_.step;
  rotate_checkpoints(parts_.folder.checkpoints(), parts_.config.run.keep_checkpoints,
                     progress_.best_step);
  if (sink_) sink_(SaveEvent{progress_.step, folder.string()});
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

void Trainer::initialize_from(const std::string& place) {
  const Checkpoint source = load_checkpoint(resolve_checkpoint(place), Load::kWeights);
  if (source.tokenizer_model != parts_.text.tokenizer.model()) {
    throw usage_error("/initialize/from", "\"" + place + "\" was trained with another tokenizer",
                      "set tokenizer.file to that checkpoint's tokenizer.model");
  }
  copy_weights(source.weights, *model_, place);
}

}  // namespace alibi
