// The training loop. While not done and not asked to stop: step, report, evaluate if due, save if
// due.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "data/batch_loader.h"
#include "data/batches.h"
#include "data/prepare.h"
#include "data/text_sample.h"
#include "model/gpt.h"
#include "optimizer/adamw.h"
#include "report/jsonl.h"
#include "train/run_folder.h"

namespace alibi {

struct StepEvent {
  std::int64_t step = 0;    // finished steps
  std::int64_t tokens = 0;  // trained on so far
  double loss = 0;          // nats per token, mean over the step
  double learning_rate = 0;
  double gradient_norm = 0;  // before clipping
  double seconds = 0;
  bool skipped = false;  // not finite: the weights stayed as they were
};

struct ValidationEvent {
  std::int64_t step = 0, tokens = 0;
  double loss = 0;
  bool best = false;
};

struct SaveEvent {
  std::int64_t step = 0;
  std::string folder;
};

using Event = std::variant<StepEvent, ValidationEvent, SaveEvent>;
using Sink = std::function<void(const Event&)>;

// What a trainer works with; all must outlive it. `config` is resolved, precision included.
struct TrainerParts {
  const Config& config;
  const PreparedText& text;
  RunFolder& folder;
  torch::Device device;
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
  const Progress& progress() const { return progress_; }
  Gpt& model() { return model_; }

 private:
  StepEvent step();
  double forward_backward(Batch& batch);
  void report(const StepEvent& event);
  void validate();
  void save();
  bool crosses(std::int64_t every_tokens, std::int64_t before) const;
  bool done() const;
  void initialize_from(const std::string& place);

  TrainerParts parts_;
  Sink sink_;
  Gpt model_;
  std::vector<torch::Tensor> parameters_;
  AdamW optimizer_;
  BatchReader reader_;
  BatchLoader loader_;
  JsonLines log_;
  Progress progress_;
  std::string identity_;
  TextSample validation_;  // whole windows, spread over the held-out text
  std::int64_t saved_step_ = -1;
};

}  // namespace alibi
