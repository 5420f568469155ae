// A measured extrapolation curve: loss against context length, from a model trained at one length.
//
// evaluate/ fills these structs; writers, plots and the page only read them. A figure that was not
// measured is NaN (or 0 where it counts something). As files: report/curve_files.h.
#pragma once

#include <optional>

#include "config/evaluation_config.h"
#include "report/curve_parts.h"

namespace alibi {

inline constexpr const char* kOutOfMemory = "out of memory";

struct CurvePoint {
  std::int64_t length = 0;  // tokens of one window
  double multiple = 0;      // length / trained length
  // low and high are the ends of 95 % intervals.
  double loss = kNotMeasured, loss_low = kNotMeasured, loss_high = kNotMeasured;  // nats per token
  double perplexity = kNotMeasured, perplexity_low = kNotMeasured, perplexity_high = kNotMeasured;
  // perplexity / perplexity at 1x - 1, with its paired interval
  double change_from_1x = kNotMeasured, change_low = kNotMeasured, change_high = kNotMeasured;
  // Of all lengths together: with a chance of 95 % every one of them holds (sup-t bands).
  double loss_joint_low = kNotMeasured, loss_joint_high = kNotMeasured;
  double change_joint_low = kNotMeasured, change_joint_high = kNotMeasured;
  double bits_per_byte = kNotMeasured;
  double word_perplexity = kNotMeasured;  // e^(nats per word)
  // What of the gain over 1x (nats, above 0: better) the longer context itself brings, and what
  // comes from fewer targets with a short context (Press et al. 2021, appendix B). The former is
  // that of targets in the later halves of windows of both lengths; or, where split_stride is
  // given, of all targets in windows slid by it, whose loss is full_loss: every target has length -
  // split_stride tokens or more before it.
  double full_loss = kNotMeasured;
  double early_gain = kNotMeasured, early_gain_low = kNotMeasured, early_gain_high = kNotMeasured;
  double context_gain = kNotMeasured, context_gain_low = kNotMeasured,
         context_gain_high = kNotMeasured;
  std::int64_t targets = 0;
  double seconds = kNotMeasured, tokens_per_second = kNotMeasured;
  std::int64_t peak_memory_bytes = 0;
  // Of the 64 x 64 blocks of keys up to the queries' own, those that attention visited: over all
  // windows, layers and heads.
  double visited_share = kNotMeasured;
  KeyFigures key;
  bool applicable = true;  // false: this model cannot take this length; `note` says why
  std::string note;
  bool out_of_memory = false;  // some of it was not measured for that reason; `note` says what
};

struct Curve {
  std::string name, position;  // "alibi", "sinusoidal", ...
  std::string checkpoint, checkpoint_sha256;
  std::int64_t step = 0;
  std::int64_t trained_length = 0;   // L * s, what "1x" means
  std::int64_t sequence_length = 0;  // L
  double train_sequence_length_scaling = 1;
  std::int64_t parameters = 0;
  std::vector<double> slopes;      // ALiBi's, one per head, as trained
  std::vector<CurvePoint> points;  // by rising length
  UsableLength usable;
  std::vector<LossByPosition> loss_by_position;
  FarContext far_context;  // without bins: not measured

  const std::string& label() const { return name.empty() ? position : name; }  // in every legend
};

struct CurveProtocol {
  std::optional<Protocol> name;  // nothing: no text was scored
  std::int64_t stride = 0;       // 0: none, or not the same for every length
  std::int64_t sinks = 0, split_stride = 0;
  std::string description, document_borders;  // a sentence each
  std::string treatment;  // what is done to positions, in a sentence; empty: nothing
  std::string precision, device, kernel;
};

struct CurveText {
  std::vector<std::string> files;
  std::string selection;  // "12 of 57 windows of 1280 tokens, spread evenly over the text"
  std::string sha256;     // of the scored tokens
  std::int64_t tokens_scored = 0, tokens_cut_off = 0, bytes = 0,
               words = 0;  // cut off: all not scored
};

struct CurveSet {
  CurveProtocol protocol;
  CurveText text;
  KeyTokenRule key_tokens;
  std::string program_version, command_line, created;  // created: utc_timestamp()
  std::vector<Curve> curves;
};

// For the terminal: one table per curve, then a line each for what there is of: intervals, usable
// length, useful context, treatment of positions, protocol, text. The whole protocol is in
// curve.json and on the page.
std::string curve_table(const CurveSet& set);
std::string protocol_line(const CurveProtocol& protocol);  // "sliding, stride 64, bf16 .."
std::string text_line(const CurveProtocol& protocol, const CurveText& text);  // "a.txt, 9 of 12 .."

// " at every length", or what else the protocol makes of the scored tokens.
const char* scored_where(const CurveProtocol& protocol);
std::string protocol_name(const CurveProtocol& protocol);  // as configs spell it, or ""
std::vector<std::string> protocol_numbers(const CurveProtocol& protocol);  // "stride 64", ...
bool measured(const CurvePoint& point);  // applicable, and with a perplexity

// One sentence in words: the change from 1x to the longest length, honest when it is worse or when
// the interval holds 0. "no point could be measured" for an empty curve.
std::string curve_summary(const Curve& curve);
// What a falling curve under this protocol does and does not show.
std::string curve_caution(const CurveProtocol& protocol);

}  // namespace alibi
