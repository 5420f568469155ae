// The parts of a comparison's report that are not figures.
#pragma once

#include "experiment/plan.h"
#include "report/comparison.h"

namespace alibi {

// Variants and their points, nothing measured yet.
Comparison describe_plan(const ExperimentPlan& plan);

// Adds what a measured run has of its variant, of the text and of the protocol; of the protocol
// stays what all runs share. Throws Error when losses of another text would be compared.
void describe_run(Comparison& all, std::size_t variant, const ComparedRun& run,
                  const CurveSet& found);

// Notes at the points of a variant all of whose seeds failed: kOutOfMemory, or that its run failed.
void label_failures(Comparison& all);

}  // namespace alibi
