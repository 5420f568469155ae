// Tables and notes of `inspect attention`.
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "report/attention_page.h"

namespace alibi {
namespace {

constexpr double kShortReach = 4;   // tokens: a head that sees no farther is steep
constexpr double kFlatBias = 1;     // nats at the trained length: a bias below it hardly tells
constexpr double kBlind = 0.01;     // share of keys whose weight is 0
constexpr double kCollapsed = 0.5;  // weight of the first token

constexpr Align kRight = Align::kRight;

std::string figure_or_dash(double value) {
  return std::isfinite(value) ? significant(value, 4) : "-";
}

// f(layer, head), both from 0.
template <class F>
void each_head(const AttentionPicture& picture, const F& f) {
  for (std::size_t layer = 0; layer < picture.layers.size(); ++layer)
    for (std::size_t head = 0; head < picture.layers[layer].size(); ++head) f(layer, head);
}

// "1.1 (2 tokens), 2.3 (4 tokens)": layer and head, from 1, of those that `words` says something
// of.
template <class Words>
std::string named_heads(const AttentionPicture& picture, const Words& words) {
  std::vector<std::string> names;
  each_head(picture, [&](std::size_t layer, std::size_t head) {
    const std::string said = words(layer, head);
    if (!said.empty()) names.push_back(cat(layer + 1, ".", head + 1, " (", said, ")"));
  });
  return join(names, ", ");
}

// "at 64 tokens: 1.1 (2 tokens); at 256 tokens: ..": the same of a figure at each length.
template <class Words>
std::string named_at_lengths(const AttentionPicture& picture, const Words& words) {
  std::vector<std::string> lines;
  for (const HeadsAtLength& at : picture.lengths) {
    const std::string names =
        named_heads(picture, [&](std::size_t layer, std::size_t head) -> std::string {
          return words(at.layers[layer][head]);
        });
    if (!names.empty()) lines.push_back(cat("at ", with_commas(at.length), " tokens: ", names));
  }
  return join(lines, "; ");
}

bool has_slopes(const AttentionPicture& picture) {
  return !picture.layers.empty() && !picture.layers.front().empty() &&
         !std::isnan(picture.layers.front().front().slope);
}

std::string blind_advice(const AttentionPicture& picture) {
  return has_slopes(picture)
             ? "smaller slopes (a larger model.slope_bias_max), model.learned_slopes or "
               "model.position=kerple"
             : "a bias that grows more slowly with the distance (model.position=kerple)";
}

std::string windows_text(const AttentionPicture& picture) {
  std::vector<std::string> counts;
  for (const HeadsAtLength& at : picture.lengths)
    counts.push_back(cat(at.windows, " of ", with_commas(at.length)));
  return join(counts, ", ");
}

}  // namespace

Table visited_table(const AttentionPicture& picture) {
  Table table{{{"layer", kRight}, {"head", kRight}, {"slope", kRight}}, {}};
  for (const HeadsAtLength& at : picture.lengths)
    table.columns.push_back({with_commas(at.length), kRight});
  std::vector<double> sums(picture.lengths.size());
  each_head(picture, [&](std::size_t layer, std::size_t head) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row = {cat(layer + 1), cat(head + 1), figure_or_dash(picture.layers[layer][head].slope)};
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double share = picture.lengths[i].layers[layer][head].visited_share;
      sums[i] += share;
      row.push_back(share_text(share));
    }
  });
  const auto heads = static_cast<double>(table.rows.size());
  table.rows.emplace_back();
  std::vector<std::string>& all = table.rows.emplace_back();
  all = {"all", "", ""};
  for (const double sum : sums) all.push_back(share_text(sum / heads));
  return table;
}

std::string visited_legend(const AttentionPicture& picture) {
  std::vector<std::string> uncounted;
  for (std::size_t layer = 0; layer < picture.uncounted_kernels.size(); ++layer) {
    if (!picture.uncounted_kernels[layer].empty())
      uncounted.push_back(cat(layer + 1, " (", picture.uncounted_kernels[layer], ")"));
  }
  return cat(
      "share of the 64 x 64 blocks of keys in a query's past that were visited, in windows (",
      windows_text(picture), " tokens)",
      uncounted.empty() ? ""
                        : "; -: not counted, as the attention kernel of these layers does "
                          "not count blocks: " +
                              join(uncounted, ", "));
}

Table reach_table(const AttentionPicture& picture) {
  Table table{{{"length", kRight},
               {"layer", kRight},
               {"head", kRight},
               {"slope", kRight},
               {"farthest bias", kRight},
               {"reach", kRight},
               {"mean distance", kRight},
               {"0 in bf16", kRight},
               {"0 in fp32", kRight},
               {"first token", kRight}},
              {}};
  for (const HeadsAtLength& at : picture.lengths) {
    if (!table.rows.empty()) table.rows.emplace_back();
    each_head(picture, [&](std::size_t layer, std::size_t head) {
      const HeadFigures& figures = at.layers[layer][head];
      const double slope = picture.layers[layer][head].slope;
      table.rows.push_back(
          {with_commas(at.length), cat(layer + 1), cat(head + 1), figure_or_dash(slope),
           figure_or_dash(0 - slope * static_cast<double>(at.length - 1)), fixed(figures.reach, 0),
           fixed(figures.mean_distance, 1), share_text(figures.blind_bf16),
           share_text(figures.blind_fp32), share_text(figures.first_token)});
    });
  }
  return table;
}

std::string reach_legend(const AttentionPicture& picture) {
  return cat(
      "figures are of queries with at least half the length before them, in windows spread over "
      "the text (",
      windows_text(picture),
      " tokens); farthest bias: a slope's nats at the farthest key of the length; reach: the "
      "distance within which 90 % of a head's weight lies; 0 in bf16, fp32: share of the keys that "
      "a query sees whose weight is 0 in that type; first token: the mean weight on the window's "
      "first "
      "token. Layers and heads count from 1 here, from 0 in model.attention_pattern");
}

std::vector<std::string> attention_notes(const AttentionPicture& picture) {
  std::vector<std::string> lines;
  const std::string steep = named_at_lengths(picture, [](const HeadFigures& head) -> std::string {
    return head.reach <= kShortReach ? fixed(head.reach, 0) + " tokens" : "";
  });
  if (!steep.empty())
    lines.push_back(cat("heads that have 90 % of their weight within ", kShortReach,
                        " tokens, as layer.head (reach), ", steep));
  const std::string flat =
      named_heads(picture, [&](std::size_t layer, std::size_t head) -> std::string {
        const double far =
            picture.layers[layer][head].slope * static_cast<double>(picture.trained_length - 1);
        return std::abs(far) < kFlatBias ? significant(far, 2) + " nats" : "";
      });
  if (!flat.empty())
    lines.push_back(cat("heads with a small slope: over the trained length ",
                        with_commas(picture.trained_length), " their bias stays below ", kFlatBias,
                        " nat, so near and far count almost alike; as layer.head (bias at that "
                        "distance): ",
                        flat));
  const std::string negative =
      named_heads(picture, [&](std::size_t layer, std::size_t head) -> std::string {
        const double slope = picture.layers[layer][head].slope;
        return slope < 0 ? significant(slope, 2) : "";
      });
  if (!negative.empty())
    lines.push_back(cat(
        "heads with a slope below 0, which favour far keys; as layer.head (slope): ", negative));
  const std::string blind = named_at_lengths(picture, [](const HeadFigures& head) -> std::string {
    return head.blind_bf16 >= kBlind ? share_text(head.blind_bf16) : "";
  });
  if (!blind.empty())
    lines.push_back(
        cat("blind heads: weights of keys they see are 0 in bf16, so nothing can be "
            "read or learned there; try ",
            blind_advice(picture), "; as layer.head (share), ", blind));
  const std::string collapsed =
      named_at_lengths(picture, [](const HeadFigures& head) -> std::string {
        return head.first_token >= kCollapsed ? share_text(head.first_token) : "";
      });
  if (!collapsed.empty())
    lines.push_back(
        cat("collapsed heads: more than half of their weight lies on the first token, mostly a "
            "head that looks for nothing",
            has_slopes(picture) ? "; try fewer biased heads (model.biased_heads) or smaller slopes"
                                : "",
            "; as layer.head (weight), ", collapsed));
  return lines;
}

std::string attention_tables(const AttentionPicture& picture) {
  std::string text = cat(format_table(visited_table(picture)), visited_legend(picture), "\n\n",
                         format_table(reach_table(picture)), reach_legend(picture), "\n");
  for (const std::string& line : attention_notes(picture)) text += "note: " + line + "\n";
  return text;
}

}  // namespace alibi
