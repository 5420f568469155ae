// A model's extrapolation curve: one text, the same targets at every length.
#pragma once

#include <functional>

#include "checkpoint/load_model.h"
#include "data/text_sample.h"
#include "evaluate/key_tokens.h"
#include "evaluate/share.h"
#include "report/curve.h"

namespace alibi {

struct CurveOptions {
  std::vector<std::int64_t> lengths;  // rising, the trained length among them
  EvaluateConfig rules;               // all but its lengths and max_tokens, which made the sample
  // Tokens read, of those of all passes.
  std::function<void(std::int64_t done, std::int64_t total)> progress;
  std::function<void(std::int64_t done, std::int64_t total)> far_progress =
      {};  // then, far context
  ScoringShare share = {};
  const KeyTokens* key_tokens = nullptr;  // of the same sample
};

// Scores the sample's runs (whole windows of at least the longest length) at each length, and the
// useful context in plain windows: of the longest length, at most 8 times the trained one, at which
// the loss is no higher than at that; under streaming of the trained length.
// Lengths that the model's positions cannot reach become points marked not applicable. Name and
// checksum are the caller's to fill.
Curve measure_curve(LoadedModel& loaded, const TextSample& sample, const CurveOptions& options);

}  // namespace alibi
