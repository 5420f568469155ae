// Pieces of the HTML pages; all text given is escaped unless a name says html.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/curve.h"
#include "report/table.h"

namespace alibi {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string element(const char* tag, const std::string& text);
std::string table_cell(const std::string& text, const char* kind = nullptr);  // kind: a class
std::string html_table(const Table& table);  // all cells to the right, as a terminal's table
std::string figure(const std::string& svg);
std::string definitions(const Pairs& pairs);  // a <dl>; pairs without a value are left out
std::string unbroken(std::string text);       // a percent sign must not start a line

// Everything around `body_html`; `byline` stands under the heading, `head_html` in the head.
std::string whole_page(const std::string& heading, const std::vector<std::string>& byline,
                       const std::string& body_html, const std::string& head_html = {});

// "Perplexity", "Loss" and, where some curves are flat beside others, those close up; or bits per
// byte alone, which is what curves of different tokenizers share.
std::string curve_figures(const CurveSet& set, bool bits_per_byte = false);
// "What it does with its context": splits of gains, useful context; empty where not measured.
std::string context_parts(const Curve& curve);
// Protocol and text.
std::string how_measured(const CurveProtocol& protocol, const CurveText& text);

}  // namespace alibi
