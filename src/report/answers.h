// What models answered to questions about texts.
//
// answers.json, format_version 1 (figures that were not measured are null):
//   {format_version, kind: "answers", task, program_version, created, command_line, unit,
//    documents, treatment, precision, device,
//    text_files, text_sha256,                         (of passkeys: the text around the keys)
//    results: [{name, position, checkpoint, step, trained_length,
//      cells: [{length, depth, note, trials, size, answers, right, share, share_low, share_high,
//        loss, loss_low, loss_high, gain, gain_low, gain_high}]}]}
//                                        (from trials on: where the note is empty)
// answers.csv: one line per cell, columns of its result and its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"
#include "report/curve.h"

namespace alibi {

// Of answers.json; raised too when a figure is measured by another rule, as caches go by it.
inline constexpr int kAnswersFormat = 1;

struct AnswersCell {
  std::int64_t length = 0;
  double depth = kNotMeasured;          // of what is asked for; not a number: the task has none
  std::string note = {};                // why nothing was measured, or empty
  std::int64_t trials = 0;              // texts
  double size = 0;                      // of a text, in the task's units; mean
  std::int64_t answers = 0, right = 0;  // right: every token of the answer was the likeliest
  // Mean over texts of the share of answers that are right, and nats per token of the answers, each
  // with a 95 % interval over texts.
  double share = kNotMeasured, share_low = kNotMeasured, share_high = kNotMeasured;
  BoundedMean loss = {};
  // Nats per token of the answer that stating it gains over stating another one: above 0, something
  // of it was carried to the end. Paired over texts. Of passkeys.
  BoundedMean gain = {};
};

struct AnswersResult {
  std::string name, position, checkpoint;
  std::int64_t step = 0, trained_length = 0;
  std::vector<AnswersCell> cells;  // by length, then depth
};

struct AnswersSet {
  std::string task, unit;
  CurveProtocol protocol;  // its treatment, precision and device
  CurveText text;
  std::int64_t documents = 1;  // of a passkey's text
  std::string program_version, command_line, created;
  std::vector<AnswersResult> results;
};

std::string answers_table(const AnswersSet& set);  // for the terminal
Json answers_value(const AnswersSet& set);         // what answers.json holds
std::string answers_json(const AnswersSet& set);
std::string answers_csv(const AnswersSet& set);
std::string answers_page(const AnswersSet& set, const std::string& title);

// What answers_json wrote. Throws Error headed by `place`.
AnswersSet parse_answers(std::string_view text, const std::string& place);

}  // namespace alibi
