#include "report/attention_page.h"

#include <algorithm>
#include <cmath>

#include "base/json/write.h"
#include "base/strings.h"
#include "report/page_parts.h"
#include "report/table.h"
#include "report/template.h"

namespace alibi {
namespace {

constexpr double kShortReach = 4;   // tokens: a head that sees no farther is steep
constexpr double kFlatBias = 1;     // nats at the trained length: a bias below it hardly tells
constexpr double kBlind = 0.01;     // share of keys whose weight is 0
constexpr double kCollapsed = 0.5;  // weight of the first token

// Of a row of numbers, the first `count`, with the digits that a picture can show; null for none.
void add_rounded(Json& list, const float* row, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    list.push_back(std::isfinite(row[i]) ? Json(std::round(double{row[i]} * 1000) / 1000) : Json());
}

Json head_json(const AttentionHead& head, std::size_t size) {
  Json bias = Json::list(), scores = Json::list();
  add_rounded(bias, head.bias_by_distance.data(), head.bias_by_distance.size());
  for (std::size_t i = 0; i < size; ++i) add_rounded(scores, &head.scores[i * size], i + 1);
  return {{"slope", head.slope}, {"reach", head.reach}, {"bias", bias}, {"scores", scores}};
}

Json curve_object(const SlopeCurve& curve) {
  return {{"rule", curve.rule},
          {"factor", curve.factor},
          {"slopes", curve.slopes},
          {"lengths", curve.lengths},
          {"perplexities", curve.perplexities}};
}

std::string page_data(const AttentionPicture& picture) {
  Json data = {{"tokens", picture.tokens},
               {"trained", picture.trained_length},
               {"layers", Json::list()},
               {"curves", Json::list()}};
  for (const std::vector<AttentionHead>& layer : picture.layers) {
    Json heads = Json::list();
    for (const AttentionHead& head : layer) heads.push_back(head_json(head, picture.tokens.size()));
    data["layers"].push_back(std::move(heads));
  }
  for (const SlopeCurve& curve : picture.curves) data["curves"].push_back(curve_object(curve));
  std::string text =
      write_json(data, {.ascii = true, .invalid_utf8 = JsonStyle::InvalidUtf8::kReplace});
  // Inside a script element "</" and "<!--" would end it, or keep it from ending.
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;)
    text.replace(at, 1, "\\u003c");
  return text;
}

std::string figure_or_dash(double value) {
  return std::isfinite(value) ? significant(value, 4) : "-";
}

std::string share(double of_one) { return fixed(100 * of_one, 1) + " %"; }

Table reach_rows(const AttentionPicture& picture) {
  const Align right = Align::kRight;
  Table table{{{"layer", right},
               {"head", right},
               {"slope", right},
               {"bias at 1x", right},
               {"reach", right},
               {"mean distance", right},
               {"0 in bf16", right},
               {"0 in fp32", right},
               {"first token", right}},
              {}};
  for (std::size_t layer = 0; layer < picture.layers.size(); ++layer) {
    for (std::size_t h = 0; h < picture.layers[layer].size(); ++h) {
      const AttentionHead& head = picture.layers[layer][h];
      const double far = head.slope * static_cast<double>(picture.trained_length - 1);
      table.rows.push_back({cat(layer + 1), cat(h + 1), figure_or_dash(head.slope),
                            figure_or_dash(-far), fixed(head.reach, 0),
                            fixed(head.mean_distance, 1), share(head.blind_bf16),
                            share(head.blind_fp32), share(head.first_token)});
    }
  }
  return table;
}

std::string reach_legend(const AttentionPicture& picture) {
  return cat(
      "reach: the distance within which 90 % of a head's weight lies, over windows of ",
      with_commas(picture.window),
      " tokens; bias at 1x: nats at the farthest key of the "
      "trained length ",
      with_commas(picture.trained_length),
      "; 0 in bf16, fp32: share of the keys that a query sees whose weight is 0 in that type; "
      "first token: its mean weight");
}

// "layer 1 head 1 (2 tokens)", ... of the heads that `holds`.
template <class Holds, class Words>
std::string named_heads(const AttentionPicture& picture, const Holds& holds, const Words& words) {
  std::vector<std::string> names;
  for (std::size_t layer = 0; layer < picture.layers.size(); ++layer) {
    for (std::size_t h = 0; h < picture.layers[layer].size(); ++h) {
      const AttentionHead& head = picture.layers[layer][h];
      if (holds(head)) names.push_back(cat(layer + 1, ".", h + 1, " (", words(head), ")"));
    }
  }
  return join(names, ", ");
}

bool has_slopes(const AttentionPicture& picture) {
  return !picture.layers.empty() && !picture.layers.front().empty() &&
         !std::isnan(picture.layers.front().front().slope);
}

// One line for each head with nearly all its weight within a few tokens, or to which the bias at
// the trained length is no bias.
std::vector<std::string> attention_notes(const AttentionPicture& picture) {
  std::vector<std::string> lines;
  const std::string steep = named_heads(
      picture, [](const AttentionHead& head) { return head.reach <= kShortReach; },
      [](const AttentionHead& head) { return fixed(head.reach, 0) + " tokens"; });
  if (!steep.empty())
    lines.push_back(cat("heads that have 90 % of their weight within ", kShortReach,
                        " tokens, as layer.head (reach): ", steep));
  const auto far = [&](const AttentionHead& head) {
    return head.slope * static_cast<double>(picture.trained_length - 1);
  };
  const std::string flat = named_heads(
      picture, [&](const AttentionHead& head) { return far(head) < kFlatBias; },
      [&](const AttentionHead& head) { return significant(far(head), 2) + " nats"; });
  if (!flat.empty())
    lines.push_back(cat("heads with a small slope: over the trained length ",
                        picture.trained_length, " their bias stays below ", kFlatBias,
                        " nat, so near and far count "
                        "almost alike; as layer.head (bias at that distance): ",
                        flat));
  const auto blind = [](const AttentionHead& head) { return head.blind_bf16 >= kBlind; };
  const std::string blinded =
      named_heads(picture, blind, [](const AttentionHead& head) { return share(head.blind_bf16); });
  if (!blinded.empty())
    lines.push_back(
        cat("blind heads: weights of keys they see are 0 in bf16, so nothing can be "
            "learned from these; try ",
            has_slopes(picture) ? "smaller slopes (model.slope_bias_max), model.learned_slopes or "
                                  "model.position=kerple"
                                : "a bias that grows more slowly with the distance "
                                  "(model.position=kerple)",
            "; as layer.head (share): ", blinded));
  const std::string collapsed = named_heads(
      picture, [](const AttentionHead& head) { return head.first_token >= kCollapsed; },
      [](const AttentionHead& head) { return share(head.first_token); });
  if (!collapsed.empty())
    lines.push_back(
        cat("collapsed heads: more than half of their weight lies on the first token, "
            "mostly a head that looks for nothing",
            has_slopes(picture) ? "; try fewer biased heads (model.biased_heads) or smaller slopes"
                                : "",
            "; as layer.head (weight): ", collapsed));
  return lines;
}

}  // namespace

std::string reach_table(const AttentionPicture& picture) {
  std::string text = format_table(reach_rows(picture)) + reach_legend(picture) + "\n";
  for (const std::string& line : attention_notes(picture)) text += "note: " + line + "\n";
  return text;
}

std::string attention_page(const AttentionPicture& picture) {
  Json page =
      page_head("Attention of " + picture.name,
                {cat(picture.position, ", trained at ", with_commas(picture.trained_length)),
                 picture.checkpoint, "made by alibi " + picture.program_version, picture.created},
                picture.command_line);
  page.update({{"slopes", !picture.curves.empty()},
               {"notes", attention_notes(picture)},
               {"reach_legend", reach_legend(picture)},
               {"reach", table_value(reach_rows(picture))},
               {"data", page_data(picture)}});
  return fill_page("attention.html", page);
}

}  // namespace alibi
