// The pictures of a CurveSet: what curve_svg draws for curve.svg and for the page.
#pragma once

#include "report/curve.h"
#include "report/plot.h"

namespace alibi {

enum class CurveFigure { kPerplexity, kLoss, kBitsPerByte };

// All curves over the length of the window. Lengths that do not apply to a curve are left out and
// named in the legend; every trained length is marked.
PlotSpec curve_plot(const CurveSet& set, CurveFigure figure);

// Loss of the targets at each position of the window, one line per measured length of one curve.
PlotSpec position_plot(const CurveSet& set, const Curve& curve);

// Under each title: "non_overlapping windows, 512,000 targets at every length, bf16 activations".
std::string curve_subtitle(const CurveSet& set);

}  // namespace alibi
