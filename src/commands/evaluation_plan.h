// What `alibi evaluate` is asked to measure: checkpoints, each with its rules, under one protocol.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/load_model.h"
#include "data/text_sample.h"
#include "report/curve.h"

namespace alibi {

struct EvaluationRequest {
  std::vector<std::string> checkpoints, names, overrides;
  std::string lengths;  // comma-separated; empty: evaluate.lengths
};

// One checkpoint and how it is to be measured.
struct EvaluationCase {
  std::string name;
  ModelPlan plan;
  std::vector<std::int64_t> lengths;
  CurveProtocol protocol;
  bool passkey() const { return plan.config.evaluate.task == Task::kPasskey; }
};

// Throws Error when two checkpoints would be measured by different rules or have different
// tokenizers, before any is loaded.
std::vector<EvaluationCase> plan_evaluation(const EvaluationRequest& request);

// One rule for all checkpoints, so that all score the same targets.
SampleRule shared_rule(const std::vector<EvaluationCase>& cases);

}  // namespace alibi
