// A made-up set of curves for the tests of writers, plots and page.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "report/curve.h"

namespace alibi::test {

inline CurvePoint point(std::int64_t length, double perplexity, double base) {
  CurvePoint point;
  point.length = length;
  point.multiple = static_cast<double>(length) / 128;
  point.perplexity = perplexity;
  point.perplexity_low = perplexity - 0.5;
  point.perplexity_high = perplexity + 0.5;
  point.loss = std::log(perplexity);
  point.loss_low = std::log(perplexity - 0.5);
  point.loss_high = std::log(perplexity + 0.5);
  point.change_from_1x = perplexity / base - 1;
  point.change_low = point.change_from_1x - 0.006;
  point.change_high = point.change_from_1x + 0.005;
  point.bits_per_byte = 1.25;
  point.targets = 512000;
  point.seconds = 2;
  point.tokens_per_second = 256000;
  point.peak_memory_bytes = 210 << 20;
  return point;
}

inline Curve curve(const std::string& name, const std::vector<double>& perplexities) {
  Curve curve;
  curve.name = curve.position = name;
  curve.checkpoint = "runs/" + name + "/step-100";
  curve.checkpoint_sha256 = "abc123";
  curve.step = 100;
  curve.trained_length = 128;
  curve.sequence_length = 512;
  curve.train_sequence_length_scaling = 0.25;
  curve.parameters = 2000000;
  std::int64_t length = 128;
  for (const double perplexity : perplexities) {
    curve.points.push_back(point(length, perplexity, perplexities.front()));
    length *= 2;
  }
  return curve;
}

inline CurveSet curve_set(std::vector<Curve> curves) {
  CurveSet set;
  set.protocol = {Protocol::kNonOverlapping, 0,  0,      0,     "Windows do not overlap.",
                  "Windows cross borders.",  "", "fp32", "cpu", "reference"};
  set.text = {{"a.txt", "b.txt"},
              "40 of 57 windows of 12,800 tokens",
              "def456",
              512000,
              17,
              1900000,
              250000};
  set.program_version = "0.1.0";
  set.command_line = "alibi evaluate runs/a --text \"a b.txt\"";
  set.created = "2026-01-31T12:00:00Z";
  set.curves = std::move(curves);
  return set;
}

inline CurvePoint not_applicable(std::int64_t length, const std::string& note) {
  CurvePoint point;
  point.length = length;
  point.multiple = static_cast<double>(length) / 128;
  point.applicable = false;
  point.note = note;
  point.out_of_memory = note == kOutOfMemory;
  return point;
}

}  // namespace alibi::test
