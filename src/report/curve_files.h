// The files of a curve, written and read back, and parts of them that other reports hold too.
//
// curve.json, format_version 3 (non-finite figures are null):
//   {format_version, kind: "curve", program_version, created, command_line,
//    protocol: {name, stride, sinks, split_stride, description, treatment, document_borders,
//    precision, device, kernel,
//      sha256 (of all but device and kernel)},
//    text: {files: [..], selection, sha256, tokens_scored, tokens_cut_off, bytes, words},
//    key_tokens: {evaluator, evaluator_sha256, short_length, long_length, least_gain, most_loss,
//      tokens} (absent where they were not asked for),
//    curves: [{name, position, checkpoint, checkpoint_sha256, step, trained_length,
//    sequence_length,
//      train_sequence_length_scaling, parameters, slopes: [..],
//      points: [{length, multiple, applicable, note, out_of_memory (where it is true), loss,
//        loss_low, loss_high, perplexity,
//        perplexity_low, perplexity_high, change_from_1x, change_low, change_high,
//        loss_joint_low, loss_joint_high, change_joint_low, change_joint_high, bits_per_byte,
//        word_perplexity, full_loss, early_gain, early_gain_low, early_gain_high, context_gain,
//        context_gain_low, context_gain_high, targets, seconds, tokens_per_second,
//        peak_memory_bytes, visited_share (absent in older files),
//        key: {loss, loss_low, loss_high, change, .., context_gain, ..} (of key tokens; absent
//        without)}],
//      loss_by_position: [{length, bins: [{first, last, loss, count}]}],
//      usable_length: {tokens, low, high, over_usable: true} (absent where it was not measured),
//      far_context: null or {window, targets, useful, useful_bounded, noticed, noticed_bounded,
//      bins: [{first, last, targets,
//        swapped, swapped_low, swapped_high, shuffled, .., cut, ..}]}}]}
// curve.csv: one line per point; columns of its curve, of the protocol (no sentences), its own.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"
#include "report/curve.h"

namespace alibi {

// Of curve.json; raised too when a figure is measured by another rule, as caches go by it.
inline constexpr int kCurveFormat = 3;

Json curve_value(const CurveSet& set);
std::string curve_json(const CurveSet& set);  // invalid UTF-8 becomes U+FFFD; never throws
std::string curve_csv(const CurveSet& set);   // unmeasured figures are empty cells
// One HTML page: no script, nothing from outside, light and dark, printable. `title` may be empty.
std::string curve_page(const CurveSet& set, const std::string& title = {});

// What curve_json wrote, also with the names of protocols as they were once spelt ("one-pass").
// Throws Error headed by `place`.
CurveSet parse_curves(std::string_view text, const std::string& place);

Json protocol_json(const CurveProtocol& protocol);
Json text_json(const CurveText& text);
Json key_tokens_json(const KeyTokenRule& rule);

// Which scored targets of a text are key tokens, as a file: others measure on the same ones without
// the evaluator. key_tokens.json:
//   {format_version, kind: "key_tokens", program_version, text_sha256, targets,
//    rule: {as curve.json's key_tokens}, positions: [of key tokens, among the scored, ascending]}
struct KeyTokenList {
  std::string program_version, text_sha256;
  std::int64_t targets = 0;  // scored; 0: no list
  KeyTokenRule rule;
  std::vector<std::int64_t> positions;
};
std::string key_token_list_json(const KeyTokenList& list);
// Whether `evaluator` (evaluate.key_tokens.evaluator) names such a file, not a run.
bool names_key_token_list(const std::string& evaluator);
// Throws Error headed by `file` where it is damaged or of another text (exit code 2).
KeyTokenList read_key_token_list(const std::filesystem::path& file, const std::string& text_sha256);

}  // namespace alibi
