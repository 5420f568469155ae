#include "experiment/describe.h"

#include <utility>

#include "base/error.h"
#include "config/load.h"

namespace alibi {
namespace {

// What only a measured curve has of its variant.
void describe_variant(ComparedVariant& variant, const Curve& curve) {
  variant.position = curve.position;
  variant.parameters = curve.parameters;
  for (ComparedPoint& point : variant.points) {
    for (const CurvePoint& found : curve.points) {
      if (found.length != point.length) continue;
      if (!found.note.empty()) point.note = found.note;
    }
  }
}

// What is done to some variants only is described with those.
void merge_protocol(Comparison& all, const CurveProtocol& found) {
  CurveProtocol& shared = all.protocol;
  if (!shared.name) shared = found;
  if (shared.sinks != found.sinks) shared.sinks = 0;
  for (std::string CurveProtocol::*part :
       {&CurveProtocol::treatment, &CurveProtocol::document_borders, &CurveProtocol::kernel}) {
    if (shared.*part != found.*part) (shared.*part).clear();
  }
  // Of several, all are named.
  const auto listed = [](const std::string& one) { return "; " + one + "; "; };
  for (std::string CurveProtocol::*part : {&CurveProtocol::device, &CurveProtocol::precision}) {
    if (listed(shared.*part).find(listed(found.*part)) == std::string::npos)
      shared.*part += "; " + found.*part;
  }
}

void refuse_other_text(const Comparison& all, const CurveSet& found, const ComparedRun& run) {
  if (all.measure != Measure::kLoss || all.text.sha256.empty() ||
      all.text.sha256 == found.text.sha256)
    return;
  throw Error(run.folder, "scores other tokens than the first run (another text is held out)",
              "name one text for all: \"text\": [\"FILE\"]");
}

}  // namespace

Comparison describe_plan(const ExperimentPlan& plan) {
  Comparison c;
  c.name = plan.file.name;
  c.title = plan.file.title;
  c.reference = plan.file.reference;
  c.measure = plan.one_tokenizer ? Measure::kLoss : Measure::kBitsPerByte;
  c.seeds = plan.file.seeds;
  for (const PlannedVariant& planned : plan.variants) {
    ComparedVariant variant;
    variant.name = planned.name;
    variant.changes = planned.changes;
    variant.trained_length = batch_shape(planned.config.batch).length;
    variant.sequence_length = planned.config.batch.sequence_length;
    variant.train_sequence_length_scaling = planned.config.batch.train_sequence_length_scaling;
    for (const std::int64_t length : plan.lengths) {
      ComparedPoint point;
      point.length = length;
      point.multiple = static_cast<double>(length) / static_cast<double>(variant.trained_length);
      variant.points.push_back(point);
    }
    if (planned.name == plan.file.reference) c.settings = config_json(planned.config);
    c.variants.push_back(std::move(variant));
  }
  for (const PlannedTask& planned : plan.tasks) {
    ComparedTask task{planned.name, {}, {}};
    for (std::size_t i = 0; i < c.variants.size(); ++i) {
      auto& points = task.variants.emplace_back();
      for (const std::int64_t length : planned.lengths) points.push_back({.length = length});
    }
    c.tasks.push_back(std::move(task));
  }
  return c;
}

void describe_run(Comparison& all, std::size_t variant, const ComparedRun& run,
                  const CurveSet& found) {
  refuse_other_text(all, found, run);
  merge_protocol(all, found.protocol);
  if (all.text.sha256.empty()) {
    all.text = found.text;
    all.key_tokens = found.key_tokens;
  }
  describe_variant(all.variants[variant], run.curve);
}

void label_failures(Comparison& all) {
  for (ComparedVariant& variant : all.variants) {
    std::string failure;
    bool measured = false;
    for (const ComparedRun& run : all.runs) {
      if (run.variant != variant.name) continue;
      measured = measured || run.failure.empty();
      failure = run.failure;
    }
    if (measured) continue;
    const bool memory = failure.find(kOutOfMemory) != std::string::npos;
    for (ComparedPoint& point : variant.points)
      point.note = memory ? kOutOfMemory : "its run failed";
  }
}

}  // namespace alibi
