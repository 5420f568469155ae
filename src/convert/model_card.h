// README.md of an exported folder: what the model is, how it was trained, how far it was measured.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"

namespace alibi {

// One length of a measured curve.
struct CardPoint {
  std::int64_t length = 0;
  double perplexity = 0, change = 0, bits_per_byte = 0;  // change: from the trained length
};

struct CardCurve {
  std::vector<CardPoint> points;  // that the model takes, by rising length
  std::string usable;             // usable length, in words; empty: not measured
  std::string measured;           // text, rules and precision, in words
  bool has_figure = false;        // curve.svg lies beside
};

// Of the checkpoint with that manifest, out of a folder that `alibi evaluate --output` wrote.
// Throws Error when the folder's curve is of other checkpoints, or of a model that was treated
// (stretched, with sinks) in a way that no export is.
CardCurve read_card_curve(const std::filesystem::path& folder, const std::string& manifest_sha256);

struct ModelCard {
  std::string name;
  Config config;
  std::int64_t parameters = 0, vocabulary = 0, tokens = 0;  // tokens: trained on
  std::int64_t longest = 0;                                 // max_seq_len
  std::optional<CardCurve> curve;
  bool custom_code = false;  // its modelling file lies beside
  bool limited = false;      // transformers takes `longest` tokens and no more
};

std::string model_card(const ModelCard& card);

}  // namespace alibi
