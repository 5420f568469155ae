// The page of a set of curves.
#include "base/strings.h"
#include "report/context.h"
#include "report/curve_files.h"
#include "report/curve_plots.h"
#include "report/page_parts.h"
#include "report/template.h"

namespace alibi {
namespace {

std::string default_title(const CurveSet& set) {
  std::vector<std::string> names;
  for (const Curve& curve : set.curves) names.push_back(curve.label());
  if (names.empty() || names.size() > 4) return "Perplexity beyond the trained length";
  return "Perplexity beyond the trained length: " + join(names, ", ");
}

Json summary(const CurveSet& set) {
  if (set.curves.empty()) return Json::list({"No curve was measured."});
  Json lines = Json::list();
  for (const Curve& curve : set.curves) lines.push_back(unbroken(curve_summary(curve)));
  return lines;
}

Json position_figures(const CurveSet& set) {
  Json figures = Json::list();
  for (const Curve& curve : set.curves)
    if (!curve.loss_by_position.empty()) figures.push_back(figure_value(position_plot(set, curve)));
  if (figures.empty()) return nullptr;
  return {{"figures", std::move(figures)}};
}

// How far it looks; null where that was not measured.
Json far_value(const Curve& curve) {
  if (curve.far_context.window == 0) return nullptr;
  std::string text = useful_context_text(curve.far_context) + ".";
  text[0] = 'U';
  Json figures = Json::list();
  if (!curve.far_context.bins.empty()) figures.push_back(figure_value(far_context_plot(curve)));
  return {{"text", unbroken(text)},
          {"figures", std::move(figures)},
          {"bins", table_value(far_context_table(curve.far_context))}};
}

}  // namespace

std::string curve_page(const CurveSet& set, const std::string& title) {
  Json page = curve_value(set);
  page.update(
      page_head(title.empty() ? default_title(set) : title,
                {"measured by alibi " + set.program_version, set.created, curve_subtitle(set)},
                set.command_line));
  add_scored(page, set.protocol, set.text);
  page.update({{"summary", summary(set)},
               {"usable_rule", usable_rule()},
               {"key_rule", key_tokens_text(set.key_tokens, set.text)},
               {"figures", curve_figures(set)},
               {"position_figures", position_figures(set)}});
  for (std::size_t i = 0; i < set.curves.size(); ++i) {
    const Curve& curve = set.curves[i];
    (*page["curves"].as_list())[i].update({{"label", curve.label()},
                                           {"split", table_value(split_table(curve))},
                                           {"key_table", table_value(key_tokens_table(curve))},
                                           {"far", far_value(curve)}});
  }
  return fill_page("curve.html", page);
}

}  // namespace alibi
