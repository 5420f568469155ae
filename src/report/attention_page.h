// The page of `inspect attention`: matrices one can click, sliders for length and, with ALiBi, for
// slopes. One file without anything from elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/curve.h"
#include "report/table.h"

namespace alibi {

struct AttentionHead {
  double slope = kNotMeasured;  // ALiBi's
  // q.k scaled, rows of the shown tokens, T x T; future: 0, hidden: no number.
  std::vector<float> scores;
  std::vector<float> bias_by_distance;  // nats, 0 .. T-1
};

// What a head does in windows of one length, over queries that have half of it before them.
struct HeadFigures {
  double visited_share = kNotMeasured;  // of the 64 x 64 blocks of keys up to the queries' own
  // Least distance within which 90 % of the mean weight lies; the mean distance of a unit of
  // weight.
  double reach = kNotMeasured, mean_distance = kNotMeasured;
  // Of the keys that are seen, the share whose weight is 0 in a type; and the mean weight of the
  // window's first token.
  double blind_bf16 = kNotMeasured, blind_fp32 = kNotMeasured, first_token = kNotMeasured;
};

struct HeadsAtLength {
  std::int64_t length = 0, windows = 0;          // tokens of a window, windows read
  std::vector<std::vector<HeadFigures>> layers;  // [layer][head]
};

// Measured with slopes that the model was not trained with.
struct SlopeCurve {
  std::string rule;   // "as trained", "press", "geometric", "exponential", "equal", "none"
  double factor = 1;  // times the rule's
  std::vector<double> slopes;
  std::vector<std::int64_t> lengths;
  std::vector<double> perplexities;
};

struct AttentionPicture {
  std::string name, position, checkpoint;
  std::int64_t trained_length = 0;
  std::vector<std::string> tokens;                 // shown
  std::vector<std::vector<AttentionHead>> layers;  // [layer][head]
  std::vector<HeadsAtLength> lengths;
  // Of each layer: the name of its kernel where that does not count visited blocks, else "".
  std::vector<std::string> uncounted_kernels;
  std::vector<SlopeCurve> curves;  // empty: the bias is not ALiBi's
  std::string program_version, command_line, created;
};

// For the terminal: visited blocks, one row for each head and one column for each length; then
// figures of each head at each length, and what is to be noted of them.
std::string attention_tables(const AttentionPicture& picture);
std::string attention_page(const AttentionPicture& picture);

// Parts of both.
Table visited_table(const AttentionPicture& picture);
std::string visited_legend(const AttentionPicture& picture);  // also why there is no figure
Table reach_table(const AttentionPicture& picture);
std::string reach_legend(const AttentionPicture& picture);
std::vector<std::string> attention_notes(const AttentionPicture& picture);

}  // namespace alibi
