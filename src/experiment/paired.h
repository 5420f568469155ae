// Statistics over seeds. Two variants trained on the same seed share their data order, so their
// difference varies less than each of them does.
#pragma once

#include <span>

#include "report/comparison.h"

namespace alibi {

Estimate estimate(std::span<const double> values);  // values that are NaN count as missing

// By the interval of the differences (lower is better): its whole below 0, above 0, or neither.
Verdict judge(const Estimate& difference);

// Fills the variants' points (estimates, differences from the reference, verdicts) from the runs.
void fill_estimates(Comparison& comparison);

}  // namespace alibi
