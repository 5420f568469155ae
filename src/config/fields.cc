#include "config/fields.h"

#include <algorithm>
#include <utility>

#include "config/field_builders.h"

namespace alibi {

Field& Field::range(double low, double high) {
  least = low;
  most = high;
  return *this;
}

Field& Field::one_of(std::vector<double> numbers, std::string text) {
  choices = std::move(numbers);
  choice_text = std::move(text);
  return *this;
}

Field& Field::free() {
  identity = false;
  return *this;
}

Field& Field::may_change() {
  adjustable = true;
  return *this;
}

Field& Field::counts_if(bool holds) {
  counts = holds;
  return *this;
}

Field& Field::only_if(bool holds, std::string text) {
  effective = holds;
  condition = std::move(text);
  return *this;
}

std::string Section::pointer(const Field& field) const {
  std::string text = "/" + path + "/" + field.name;
  std::replace(text.begin(), text.end(), '.', '/');
  return text;
}

std::vector<Section> sections(Config& c) {
  return {
      {"model", "Shape and position method.", model_fields(c.model)},
      {"batch", "What one step sees.", batch_fields(c.batch)},
      {"data", "Training and held-out text.", data_fields(c.data)},
      {"tokenizer", "Text to token ids.", tokenizer_fields(c.tokenizer)},
      {"initialize", "Weights at step 0.", initialize_fields(c.initialize)},
      {"optimizer", "What a step's gradients do to the weights.", optimizer_fields(c.optimizer)},
      {"schedule", "Learning rate over tokens.", schedule_fields(c.schedule)},
      {"guard", "Non-finite values, loss spikes, failed saves.", guard_fields(c.guard)},
      {"run", "Length, schedule and folder of a run.",
       run_fields(c.run, c.schedule.kind, c.guard.rolls_back())},
      {"distributed", "Several processes.", distributed_fields(c.distributed)},
      {"evaluate", "Extrapolation curves.", evaluate_fields(c.evaluate)},
      {"evaluate.answers", "Questions to a text.", answers_fields(c.evaluate)},
      {"evaluate.key_tokens", "Tokens that need a long context.", key_tokens_fields(c.evaluate)},
      {"runtime", "Device, precision, threads, memory.", runtime_fields(c.runtime)},
      {"runtime.attention", "Attention kernels.", attention_fields(c.runtime.attention)},
  };
}

const std::vector<RenamedKey>& renamed_keys() {
  static const std::vector<RenamedKey> keys = {
      {"guard", "most_skips", "max_consecutive_skips"},
      {"guard", "most_rollbacks", "max_rollbacks"},
      {"evaluate", "passkey", "answers"},
  };
  return keys;
}

}  // namespace alibi
