// The page of `inspect attention`: matrices one can click, sliders for length and, with ALiBi, for
// slopes. One file without anything from elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/curve.h"

namespace alibi {

struct AttentionHead {
  double slope = kNotMeasured;  // ALiBi's
  // Least distance within which 90 % of the weight lies, mean over queries with half the window
  // before them; and the mean distance of a unit of weight.
  double reach = kNotMeasured, mean_distance = kNotMeasured;
  // Over the same queries: of the keys they see, the share whose weight is 0 in a type; and the
  // mean weight of the window's first token.
  double blind_bf16 = kNotMeasured, blind_fp32 = kNotMeasured, first_token = kNotMeasured;
  // q.k scaled, rows of the shown tokens, T x T; future: 0, hidden: no number.
  std::vector<float> scores;
  std::vector<float> bias_by_distance;  // nats, 0 .. T-1
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
  std::int64_t trained_length = 0, window = 0;
  std::vector<std::string> tokens;                 // shown
  std::vector<std::vector<AttentionHead>> layers;  // [layer][head]
  std::vector<SlopeCurve> curves;                  // empty: the bias is not ALiBi's
  std::string program_version, command_line, created;
};

std::string reach_table(const AttentionPicture& picture);  // for the terminal
std::string attention_page(const AttentionPicture& picture);

}  // namespace alibi
