// A comparison of variants over seeds: which one wins at which length, by how much, and whether
// that is noise.
//
// experiment/ fills these structs; writers and the page only read them
// (report/comparison_reports.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "report/answers.h"
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
  double visited_share = kNotMeasured;  // as CurvePoint's, mean over seeds
  Estimate key_loss, key_context_gain;  // nats per key token
  Estimate key_difference;              // of key_loss, this variant's less the reference's
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

// A task's answers at a length, each seed's the mean over depths.
struct ComparedAnswers {
  std::int64_t length = 0;
  std::string note = {};                                 // why nothing was measured, or empty
  double size = kNotMeasured;                            // of a text, in the task's units
  Estimate share = {};                                   // of answers that are right
  Estimate loss = {};                                    // nats per token of the answers
  Estimate share_difference = {}, loss_difference = {};  // from the reference, seed by seed
  // By the loss; where tokens differ, whose nats are no measure of it, by right answers.
  Verdict verdict = Verdict::kUnknown;
};

struct ComparedTask {
  std::string name, unit;
  std::vector<std::vector<ComparedAnswers>> variants;  // as Comparison::variants, by length
};

struct ComparedRun {
  std::string variant, folder, failure;  // failure: empty, or why there are no losses
  std::int64_t seed = 0;
  double train_seconds = kNotMeasured, train_tokens_per_second = kNotMeasured;
  std::int64_t peak_memory_bytes = 0;
  std::int64_t train_targets = 0;
  Curve curve;                         // as `alibi evaluate` measured it
  std::vector<AnswersResult> answers;  // as Comparison::tasks
};

enum class Measure { kLoss, kBitsPerByte };
constexpr auto enum_names(Measure) { return std::array{"loss", "bits_per_byte"}; }

struct Comparison {
  std::string name, title, reference;
  Measure measure = Measure::kLoss;
  std::vector<std::int64_t> seeds;
  CurveProtocol protocol;
  CurveText text;
  KeyTokenRule key_tokens;
  std::vector<ComparedVariant> variants;
  std::vector<ComparedRun> runs;
  std::vector<ComparedTask> tasks;
  std::string settings;  // JSON of the reference's resolved config
  std::string program_version, command_line, created;
};

}  // namespace alibi
