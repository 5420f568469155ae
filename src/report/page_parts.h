// Values for the templates of pages (report/template.h) that several pages have.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json/value.h"
#include "report/curve.h"
#include "report/plot.h"
#include "report/table.h"

namespace alibi {

// What every page has: heading, byline, command line. `refresh`: seconds after which a browser
// reads the page again; 0: never.
Json page_head(const std::string& heading, const std::vector<std::string>& byline,
               const std::string& command_line, int refresh = 0);
Json figure_value(const PlotSpec& plot);  // as wide as a page, and as wide as a phone
Json table_value(const Table& table);     // null without rows
Json pairs_value(const std::vector<std::pair<std::string, std::string>>& pairs);
std::string unbroken(std::string text);  // a percent sign must not start a line

// Perplexity, loss and, where some curves are flat beside others, those close up; or bits per byte
// alone, which is what curves of different tokenizers share.
Json curve_figures(const CurveSet& set, bool bits_per_byte = false);
// Adds to what protocol and text have as JSON what the page says besides.
void add_scored(Json& page, const CurveProtocol& protocol, const CurveText& text);

}  // namespace alibi
