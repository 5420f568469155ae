// A comparison of variants over seeds: which one wins at which length, by how much, and whether
// that is noise.
//
// experiment/ fills these structs; writers and the page only read them. comparison.json,
// format_version 2 (figures that were not measured are null):
//   {format_version, kind: "comparison", program_version, created, command_line, name, title,
//    measure: "loss" | "bits_per_byte", reference, seeds: [..],
//    protocol: {..}, text: {..}                      as in curve.json (report/curve.h)
//    variants: [{name, position, changes: {..}, trained_length, sequence_length,
//      train_sequence_length_scaling, parameters, train_seconds, train_tokens_per_second,
//      peak_memory_bytes, train_targets,
//      points: [{length, multiple, applicable, note, seeds, loss, loss_low, loss_high, loss_sd,
//        perplexity, change, change_low, change_high, bits_per_byte, early_gain, early_gain_low,
//        early_gain_high, context_gain, context_gain_low, context_gain_high, difference,
//        difference_error, difference_low, difference_high, verdict}],
//      far_context: [{first, last, swapped, swapped_low, swapped_high, shuffled, .., cut, ..}]}],
//    runs: [{variant, seed, folder, failure, train_seconds, train_tokens_per_second,
//      peak_memory_bytes, slopes: [..], useful_context, noticed_context (words),
//      losses: [{length, loss, bits_per_byte}]}]}
// comparison.csv: one line per variant and length.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/curve.h"

namespace alibi {

// A mean over seeds with the 95 % interval of Student's t; one seed has no interval.
struct Estimate {
  int count = 0;
  double mean = kNotMeasured, deviation = kNotMeasured, error = kNotMeasured;  // error: of the mean
  double low = kNotMeasured, high = kNotMeasured;
};

enum class Verdict {
  kReference,
  kBetter,
  kWorse,
  kNoise,
  kUnknown
};  // unknown: fewer than 2 pairs
std::string verdict_name(Verdict verdict);

struct ComparedPoint {
  std::int64_t length = 0;
  double multiple = 0;  // of the variant's own trained length
  bool applicable = true;
  std::string note;
  Estimate loss;                      // nats per token
  double perplexity = kNotMeasured;   // e^mean loss
  Estimate change;                    // of perplexity from 1x, as a fraction
  Estimate early_gain, context_gain;  // the split of the gain over 1x, nats per token
  double bits_per_byte = kNotMeasured;
  Estimate difference;  // of the measure, this variant's less the reference's, seed by seed
  Verdict verdict = Verdict::kUnknown;
};

// As FarBin, means over seeds.
struct ComparedFarBin {
  std::int64_t first = 0, last = 0;
  Estimate swapped, shuffled, cut;
};

struct ComparedVariant {
  std::string name, position, changes;  // changes: JSON of what the file says of it
  std::int64_t trained_length = 0, sequence_length = 0, parameters = 0;
  double train_sequence_length_scaling = 1;
  double train_seconds = kNotMeasured, train_tokens_per_second = kNotMeasured;  // means
  std::int64_t peak_memory_bytes = 0;                                           // the largest
  std::int64_t train_targets = 0;  // scored in training: every token of every batch
  std::vector<ComparedPoint> points;
  std::vector<ComparedFarBin> far_context;
};

struct ComparedRun {
  std::string variant, folder, failure;  // failure: empty, or why there are no losses
  std::int64_t seed = 0;
  double train_seconds = kNotMeasured, train_tokens_per_second = kNotMeasured;
  std::int64_t peak_memory_bytes = 0;
  std::int64_t train_targets = 0;
  Curve curve;  // as `alibi evaluate` measured it
};

enum class Measure { kLoss, kBitsPerByte };

struct Comparison {
  std::string name, title, reference;
  Measure measure = Measure::kLoss;
  std::vector<std::int64_t> seeds;
  CurveProtocol protocol;
  CurveText text;
  std::vector<ComparedVariant> variants;
  std::vector<ComparedRun> runs;
  std::string settings;  // JSON of the reference's resolved config
  std::string program_version, command_line, created;
};

const char* measure_unit(const Comparison& comparison);        // "nats per token"
std::string comparison_table(const Comparison& comparison);    // for the terminal
std::string comparison_summary(const Comparison& comparison);  // sentences, one a line
std::string comparison_json(const Comparison& comparison);
std::string comparison_csv(const Comparison& comparison);
std::string comparison_page(const Comparison& comparison);

// What each variant does with its context: gains split, useful context; empty where not measured.
std::string comparison_context(const Comparison& comparison);  // for the terminal
std::string comparison_context_html(const Comparison& comparison);

// One curve per variant, means over seeds with their intervals: what the pictures draw.
CurveSet mean_curves(const Comparison& comparison);

}  // namespace alibi
