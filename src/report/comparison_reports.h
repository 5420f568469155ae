// A comparison as table, words, files and page.
//
// comparison.json, format_version 2 (figures that were not measured are null):
//   {format_version, kind: "comparison", program_version, created, command_line, name, title,
//    measure: "loss" | "bits_per_byte", reference, seeds: [..],
//    protocol: {..}, text: {..}, key_tokens: {..}   as in curve.json (report/curve_files.h)
//    variants: [{name, position, changes: {..}, trained_length, sequence_length,
//      train_sequence_length_scaling, parameters, train_seconds, train_tokens_per_second,
//      peak_memory_bytes, train_targets,
//      points: [{length, multiple, applicable, note, seeds, loss, loss_low, loss_high, loss_sd,
//        perplexity, change, change_low, change_high, bits_per_byte, early_gain, early_gain_low,
//        early_gain_high, context_gain, context_gain_low, context_gain_high, difference,
//        difference_error, difference_low, difference_high, visited_share, verdict,
//        key: {loss, loss_low, loss_high, context_gain, .., difference, ..} (of key tokens; absent
//        without)}],
//      far_context: [{first, last, swapped, swapped_low, swapped_high, shuffled, .., cut, ..}]}],
//    runs: [{variant, seed, folder, failure, train_seconds, train_tokens_per_second,
//      peak_memory_bytes, slopes: [..], usable_length, far_context_window,
//      useful_context, noticed_context (words),
//      losses: [{length, loss, bits_per_byte}],
//      answers: [{task, cells: [{length, depth, note, share, loss}]}]}],
//    tasks: [{name, unit, variants: [{name, points: [{length, note, size, seeds, share,
//      share_low, share_high, share_difference, .., loss, .., loss_difference, .., verdict}]}]}]}
//   tasks and answers are absent in older files.
// comparison.csv: one line per variant and length.
#pragma once

#include <string>
#include <vector>

#include "base/json/value.h"
#include "report/comparison.h"
#include "report/plot.h"
#include "report/table.h"

namespace alibi {

inline constexpr int kComparisonFormat = 2;  // of comparison.json

std::string verdict_name(Verdict verdict);
const char* measure_unit(const Comparison& comparison);        // "nats per token"
std::string comparison_table(const Comparison& comparison);    // for the terminal
std::string comparison_summary(const Comparison& comparison);  // sentences, one a line
// What is to be known of points that were measured: "at 1,280 tokens 12 % of ...".
std::vector<std::string> comparison_notes(const Comparison& comparison);
Json comparison_value(const Comparison& comparison);  // what comparison.json holds
std::string comparison_json(const Comparison& comparison);
std::string comparison_csv(const Comparison& comparison);
std::string comparison_page(const Comparison& comparison);

// What each variant does with its context: gains split, useful context; empty where not measured.
std::string comparison_context(const Comparison& comparison);  // for the terminal
Json comparison_context_value(const Comparison& comparison);   // for the page

// ALiBi's slopes as trained, by variant, and by seed where training moves them; empty where all
// variants have the same.
Table slopes_table(const Comparison& comparison);
std::string comparison_slopes(const Comparison& comparison);  // for the terminal

// A task's answers: one row for each variant and length.
Table task_table(const Comparison& comparison, const ComparedTask& task);
std::string task_figures(const Comparison& comparison);      // what such tables hold, in words
std::string comparison_tasks(const Comparison& comparison);  // for the terminal
// Its right answers over the length.
PlotSpec task_plot(const Comparison& comparison, const ComparedTask& task);

// The share of key blocks that attention visited: one row for each variant, one column for each
// length; without rows where nothing was counted.
Table visited_table(const Comparison& comparison);

// One curve per variant, means over seeds with their intervals: what the pictures draw.
CurveSet mean_curves(const Comparison& comparison);

}  // namespace alibi
