// What a model does with its context, in words, tables and pictures: splits of gains and the useful
// context.
#pragma once

#include <string>

#include "report/curve.h"
#include "report/plot.h"
#include "report/table.h"

namespace alibi {

// "useful context: 128 tokens ..."; empty where it was not measured.
std::string useful_context_words(const FarContext& far);

bool has_split(const Curve& curve);
// Gains over 1x in nats per token, and their two parts with intervals.
Table split_table(const Curve& curve);

Table far_context_table(const FarContext& far);
// Change of the loss by how many true tokens stand before a target.
PlotSpec far_context_plot(const Curve& curve);

}  // namespace alibi
