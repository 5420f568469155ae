// The loss on held-out text, and which step has the lowest.
#pragma once

#include <optional>

#include "config/config.h"
#include "data/prepared.h"
#include "data/text_sample.h"
#include "report/records/run_records.h"
#include "train/agreement.h"
#include "train/state.h"

namespace alibi {

// What is validated on: whole windows of the trained length, spread over the held-out text.
TextSample validation_sample(const Config& config, const PreparedText& text);

class Validator {
 public:
  // All outlive it.
  Validator(const Config& config, const PreparedText& text, torch::Device device, TrainState& state,
            Agreement& agreement);

  // Whether the text holds a window, with a target in it: without one nothing is validated.
  bool has_text() const { return text_.scores_anything(); }
  std::int64_t tokens() const { return text_.targets(); }  // that a validation reads

  // Scores the text in batches of `batch_tokens`, smaller ones where they do not fit into memory,
  // and notes the result in the state's progress. Nothing where a signal came before all was
  // scored: progress is then as it was.
  std::optional<ValidationRecord> validate(std::int64_t batch_tokens);

 private:
  std::optional<double> loss(std::int64_t batch_tokens);

  const Config& config_;
  std::int32_t end_;  // the token behind every document
  torch::Device device_;
  TrainState& state_;
  Agreement& agreement_;
  TextSample text_;
};

}  // namespace alibi
