// One HTML page for a set of curves: no script, nothing from outside, light and dark, printable.
#pragma once

#include <string>

#include "report/curve.h"

namespace alibi {

// Summary in words with its caution, pictures of perplexity, loss and loss by position, the table,
// protocol, text, models, command and hashes. All text of the set is escaped. `title` may be empty.
std::string curve_page(const CurveSet& set, const std::string& title = {});

// The style sheet of the page; it also recolours inline SVG (classes of svg.h) on a dark screen.
extern const char kPageStyle[];

}  // namespace alibi
