// A change with the ends of its interval as fields of a record: "x", "x_low", "x_high".
#pragma once

#include <string>

#include "report/curve_parts.h"

namespace alibi {

template <class Fields>
void change_fields(Fields& f, const std::string& name, BoundedMean& change) {
  f(name, change.mean);
  f(name + "_low", change.low);
  f(name + "_high", change.high);
}

}  // namespace alibi
