// Parts of curve.json and curve.csv that other reports hold too.
#pragma once

#include <string>

#include "report/curve.h"

namespace alibi {

std::string protocol_json(const CurveProtocol& protocol);  // one line
std::string text_json(const CurveText& text);              // one line
std::string csv_cell(const std::string& text);             // quoted where RFC 4180 asks for it

}  // namespace alibi
