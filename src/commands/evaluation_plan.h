// What `alibi evaluate` is asked to measure: checkpoints, each with its rules, under one protocol.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/load_model.h"
#include "data/text_sample.h"
#include "distributed/world.h"
#include "report/curve.h"

namespace alibi {

struct EvaluationRequest {
  std::vector<std::string> checkpoints, names, overrides;
  std::string lengths;  // comma-separated; empty: evaluate.lengths
  int device_index = 0;
};

// One checkpoint and how it is to be measured.
struct EvaluationCase {
  std::string name;
  ModelPlan plan;
  std::vector<std::int64_t> lengths;
  CurveProtocol protocol;
  bool asks() const { return plan.config.evaluate.task != Task::kPerplexity; }  // for answers
};

// Throws Error when two checkpoints would be measured by different rules or have different
// tokenizers, before any is loaded.
std::vector<EvaluationCase> plan_evaluation(const EvaluationRequest& request);

// Gives each rank its share of the cores. Throws Error where one would measure other checkpoints,
// or by other rules, than the first.
void share_evaluation(std::vector<EvaluationCase>& cases, const EvaluationRequest& request,
                      World& world);

// One rule for all checkpoints, so that all score the same targets.
SampleRule shared_rule(const std::vector<EvaluationCase>& cases);

}  // namespace alibi
