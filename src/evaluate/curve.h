// A model's extrapolation curve: one text, the same targets at every length.
#pragma once

#include <functional>
#include <string>

#include "checkpoint/load_model.h"
#include "data/text_sample.h"
#include "report/curve.h"

namespace alibi {

struct CurveOptions {
  std::vector<std::int64_t> lengths;  // rising, the trained length among them
  Protocol protocol = Protocol::kNonOverlapping;
  std::int64_t stride = 0;  // sliding: 0 means half of each length
  std::int64_t batch_tokens = 8192;
  Stretch stretch = Stretch::kNone;
  double stretch_factor = 0;  // 0: each length over the trained length
  std::function<void(const std::string& task, std::int64_t done, std::int64_t total)> progress;
};

// Scores the sample's runs (whole windows of at least the longest length) at each length. Lengths
// that the model's positions cannot reach become points marked not applicable. Name and checksum
// are the caller's to fill.
Curve measure_curve(LoadedModel& loaded, const TextSample& sample, const CurveOptions& options);

// Bytes of text that the scored tokens stand for.
std::int64_t text_bytes(const Tokenizer& tokenizer, const TextSample& sample);

// The protocol's words for reports; the kernel is the caller's to fill.
CurveProtocol describe_protocol(const Config& config, torch::Device device,
                                const CurveOptions& options);

}  // namespace alibi
