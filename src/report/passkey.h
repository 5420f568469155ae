// What was found of keys hidden in long texts.
//
// passkey.json, format_version 1:
//   {format_version, kind: "passkey", program_version, created, command_line, documents, treatment,
//    precision, device, text_files, text_sha256,      (the text around the keys)
//    cells: [{name, position, checkpoint, trained_length, length, depth, note, trials, found,
//      share_low, share_high, gain, gain_low, gain_high}]}  (from trials on: where the note is
//      empty)
// passkey.csv: the same columns, one line per cell.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/curve.h"

namespace alibi {

struct PasskeyCell {
  std::int64_t length = 0;
  double depth = 0;
  std::string note;                    // why nothing was measured, or empty
  std::int64_t trials = 0, found = 0;  // found: every token of the key was the likeliest
  double share_low = kNotMeasured, share_high = kNotMeasured;  // 95 % interval of found / trials
  // Nats per token of the key that stating it gains over stating another one: above 0, something of
  // it was carried to the end. Paired over trials, 95 % interval.
  LossChange gain;
};

struct PasskeyResult {
  std::string name, position, checkpoint;
  std::int64_t trained_length = 0;
  std::vector<PasskeyCell> cells;  // by length, then depth
};

struct PasskeySet {
  CurveProtocol protocol;  // its treatment, precision and device
  CurveText text;
  std::int64_t documents = 1;
  std::string program_version, command_line, created;
  std::vector<PasskeyResult> results;
};

std::string passkey_table(const PasskeySet& set);  // for the terminal
std::string passkey_json(const PasskeySet& set);
std::string passkey_csv(const PasskeySet& set);
std::string passkey_page(const PasskeySet& set, const std::string& title);

}  // namespace alibi
