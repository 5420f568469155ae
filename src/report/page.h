// One HTML page for a set of curves: no script, nothing from outside, light and dark, printable.
#pragma once

#include <string>

#include "report/curve.h"

namespace alibi {

// Summary in words with its caution, pictures of perplexity, loss and loss by position, the table,
// protocol, text, models, command and hashes. `title` may be empty.
std::string curve_page(const CurveSet& set, const std::string& title = {});

}  // namespace alibi
