// The training loop. While not done and not asked to stop: step, report, evaluate if due, save if
// due.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/saver.h"
#include "config/config.h"
#include "data/batch_loader.h"
#include "data/batches.h"
#include "data/prepare.h"
#include "data/text_sample.h"
#include "model/gpt.h"
#include "optimizer/optimizer.h"
#include "optimizer/guard.h"
#include "report/jsonl.h"
#include "train/run_folder.h"

namespace alibi {

struct StepEvent {
  std::int64_t step = 0;    // finished steps
  std::int64_t tokens = 0;  // trained on so far
  double loss = 0;          // cross-entropy, nats per token, mean over the step
  double learning_rate = 0;
  double gradient_norm = 0;  // before clipping
  double seconds = 0;
  Judgement judgement;               // not kTake: the step did not reach the weights
  std::int64_t rolled_back_to = -1;  // kRollBack: the weights are those of this step again
};

struct ValidationEvent {
  std::int64_t step = 0, tokens = 0;
  double loss = 0;
  bool best = false;
};

struct SaveEvent {  // the checkpoint is committed; with run.save_in_background some steps later
  std::int64_t step = 0;
  std::string folder;
};

struct SaveFailedEvent {  // guard.failed_save or guard.non_finite let the run go on
  std::string problem;
};

struct MicroBatchEvent {  // memory ran out: the step was done again in smaller parts
  std::int64_t step = 0;
  std::int64_t tokens = 0;  // of a micro batch from here on
};

using Event = std::variant<StepEvent, ValidationEvent, SaveEvent, SaveFailedEvent, MicroBatchEvent>;
using Sink = std::function<void(const Event&)>;

// What a trainer works with; all must outlive it. `config` is resolved, precision included.
struct TrainerParts {
  const Config& config;
  const PreparedText& text;
  RunFolder& folder;
  torch::Device device;
  std::int64_t most_micro_batch_tokens =
      0;  // what memory allows (train/memory_plan.h); 0: anything
};

class Trainer {
 public:
  // Builds the model and draws its weights, or takes them from `resume`.
  Trainer(const TrainerParts& parts, const std::optional<Checkpoint>& resume, Sink sink);
  Trainer(const Trainer&) = delete;  // its loader reads through it
  Trainer& operator=(const Trainer&) = delete;

  // Trains to the end or until a signal asks to stop; either way the last finished step is saved.
  // Returns the signal, or 0.
  int run();

  std::int64_t total_steps() const;
  std::int64_t micro_batch_tokens() const;  // as configured, or what memory has left of it
  const Progress& progress() const { return progress_; }
  Gpt& model() { return model_; }

 private:
  // trainer_step.cc
  StepEvent step();
  double forward_backward(Batch& batch);
  double forward_backward_in_memory(Batch& batch);
  void rehearse();
  std::int64_t rows_of_part(const Batch& batch) const;
  bool shrink_micro_batch(const Batch& batch);
  void skip(const StepEvent& event);
  void roll_back(StepEvent& event);
  std::int64_t rollback_step() const;
  std::optional<Checkpoint> rollback_checkpoint() const;

  // trainer.cc
  void report(const StepEvent& event);
  bool validate();
  std::optional<double> validation_loss();
  std::string arithmetic() const;
  void save();
  bool is_ruined(const Checkpoint& checkpoint);
  void collect(bool wait);
  bool let_fail(const std::function<void()>& write);
  void write_log(const JsonFields& fields);
  void tell(const Event& event) const;
  bool crosses(std::int64_t every_tokens, std::int64_t before) const;
  bool done() const;
  void start_over();  // the state before the first step
  void initialize_from_source();
  void take_changes(const Checkpoint& resume);
  void log_changes();

  TrainerParts parts_;
  Sink sink_;
  Gpt model_;
  std::vector<torch::Tensor> parameters_;
  Optimizer optimizer_;
  BatchReader reader_;
  BatchLoader loader_;
  JsonLines log_;
  Progress progress_;
  std::string identity_;
  std::vector<std::string> changes_;  // of the config, by this resume; not yet logged
  TextSample validation_;             // whole windows, spread over the held-out text
  std::int64_t saved_step_ = -1;
  CheckpointSaver saver_;
};

}  // namespace alibi
