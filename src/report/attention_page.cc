#include "report/attention_page.h"

#include <algorithm>
#include <cmath>

#include "base/json/write.h"
#include "base/strings.h"
#include "report/page_parts.h"
#include "report/template.h"

namespace alibi {
namespace {

// Of a row of numbers, the first `count`, with the digits that a picture can show; null for none.
void add_rounded(Json& list, const float* row, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    list.push_back(std::isfinite(row[i]) ? Json(std::round(double{row[i]} * 1000) / 1000) : Json());
}

// `reach`: at each length.
Json head_json(const AttentionHead& head, Json reach, std::size_t size) {
  Json bias = Json::list(), scores = Json::list();
  add_rounded(bias, head.bias_by_distance.data(), head.bias_by_distance.size());
  for (std::size_t i = 0; i < size; ++i) add_rounded(scores, &head.scores[i * size], i + 1);
  return {{"slope", head.slope}, {"reach", std::move(reach)}, {"bias", bias}, {"scores", scores}};
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
               {"lengths", Json::list()},
               {"layers", Json::list()},
               {"curves", Json::list()}};
  for (const HeadsAtLength& at : picture.lengths) data["lengths"].push_back(at.length);
  for (std::size_t layer = 0; layer < picture.layers.size(); ++layer) {
    Json heads = Json::list();
    for (std::size_t h = 0; h < picture.layers[layer].size(); ++h) {
      Json reach = Json::list();
      for (const HeadsAtLength& at : picture.lengths) reach.push_back(at.layers[layer][h].reach);
      heads.push_back(head_json(picture.layers[layer][h], std::move(reach), picture.tokens.size()));
    }
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

}  // namespace

std::string attention_page(const AttentionPicture& picture) {
  Json page =
      page_head("Attention of " + picture.name,
                {cat(picture.position, ", trained at ", with_commas(picture.trained_length)),
                 picture.checkpoint, "made by alibi " + picture.program_version, picture.created},
                picture.command_line);
  page.update({{"slopes", !picture.curves.empty()},
               {"notes", attention_notes(picture)},
               {"reach_legend", reach_legend(picture)},
               {"reach", table_value(reach_table(picture))},
               {"visited_legend", visited_legend(picture)},
               {"visited", table_value(visited_table(picture))},
               {"data", page_data(picture)}});
  return fill_page("attention.html", page);
}

}  // namespace alibi
