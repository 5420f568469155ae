// Lines of a CSV file (RFC 4180 with \n), each an object of numbers, truths and texts.
#pragma once

#include <string>

#include "base/json/value.h"

namespace alibi {

std::string csv_cell(const std::string& text);  // quoted where it must be

std::string csv_heading(const Json& row);  // its keys
std::string csv_line(const Json& row);     // null and what is not finite are empty cells

}  // namespace alibi
