// 95 % intervals by a bootstrap over consecutive blocks of the text (Kuensch 1989): neighbouring
// tokens are not independent, whole blocks nearly are.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "report/curve_parts.h"

namespace alibi {

struct Interval {
  double low = 0, high = 0;
};

double mean_of(std::span<const double> values);
double deviation_of(std::span<const double> values);  // of a sample; NaN for fewer than two

// 1, 2, 3-4, 5-8, ... up to `last`: positions or distances, each span twice as wide as the one
// before. Pairs of first and last.
std::vector<std::pair<std::int64_t, std::int64_t>> doubling_spans(std::int64_t last);

inline constexpr int kBootstrapDraws = 1000;

// The t for which a share of 0.95 of Student's distribution lies within -t .. t; from 1 degree on.
double student_t_95(int degrees);

// Where blocks of `block` losses end; a shorter last one joins the one before it.
std::vector<std::int64_t> equal_blocks(std::int64_t losses, std::int64_t block);

// The mean loss of kBootstrapDraws resamples of the text's blocks, seed 0; none where the text has
// fewer than kLeastBlocks. Block i ends before the loss `block_ends[i]`, the last one with the
// text. Resamples of n blocks vary too little, by sqrt((n - 1) / n), and their percentiles are the
// normal distribution's: draws are spread about the mean of all by what Student's t with n - 1
// degrees asks for (Hesterberg 2015, section 4.2). The same blocks are drawn for every vector with
// as many, so differences between two results are paired. `kept`, where given, says for each loss
// whether it counts.
std::vector<double> bootstrap_means(std::span<const float> losses,
                                    std::span<const std::int64_t> block_ends,
                                    std::span<const std::uint8_t> kept = {});
// Of equal_blocks.
std::vector<double> bootstrap_means(std::span<const float> losses, std::int64_t block);

// One interval for each row of `draws` (equal numbers of draws, the same blocks in all) so that,
// with a chance of 95 %, all hold together: centre +- q * standard deviation of the row, where q is
// the 95th percentile over draws of the largest deviation in any row. NaN without draws.
std::vector<Interval> joint_95(const std::vector<double>& centres,
                               const std::vector<std::vector<double>>& draws);

// 95 % interval of a share of which `hits` of `trials` were seen (Wilson 1927).
Interval wilson_95(std::int64_t hits, std::int64_t trials);

Interval middle_95(std::vector<double> values);  // 2.5th to 97.5th percentile; NaN of none
// The same without interpolation: two of the values, the nearest by rank.
Interval nearest_95(std::vector<double> values);

}  // namespace alibi
