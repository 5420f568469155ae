// What a model does with its context, in words, tables and pictures: splits of gains, the usable
// length and the useful context.
#pragma once

#include <string>

#include "report/curve.h"
#include "report/plot.h"
#include "report/table.h"

namespace alibi {

// How far back context does something, as the end of the farthest bin in which the loss rises by
// more than kLeastContextGain, with an interval above 0, whatever nearer bins show; 0: none.
// `bounded` false: that is the last bin, or a farther one may do as much, so this is a lower limit.
struct Reach {
  std::int64_t tokens = 0;
  bool bounded = true;
};
Reach useful_context(const FarContext& far);   // leaving out what is farther back hurts
Reach noticed_context(const FarContext& far);  // other text there hurts

// When a distance counts, in words for readers: "raises the loss by more than ..".
std::string reach_rule();
std::string reach_text(const Reach& reach);  // "128 tokens", "at least 512 tokens", "not shown"
// "useful context: 128 tokens ..."; empty where none was asked for.
std::string useful_context_text(const FarContext& far);

// "256 tokens (128 .. 512)", "at least" where no longer one was measured; empty where none was.
std::string usable_text(const Curve& curve);
// Up to where no measured length beyond the usable one has a loss more than kUsableMargin above
// that at the usable length.
std::int64_t harmless_length(const Curve& curve);
// What a usable length is, in words for readers: "the longest whose loss is within 0.01 nats ..".
std::string usable_rule();

// How key tokens were chosen, in words: "812 of 92,160 targets, whose loss ..";
// empty where they were not asked for.
std::string key_tokens_text(const KeyTokenRule& rule, const CurveText& text);
// Perplexity of key tokens, its change from 1x, and what longer context brings them.
Table key_tokens_table(const Curve& curve);

// Gains over 1x in nats per token, and their two parts with intervals.
Table split_table(const Curve& curve);

Table far_context_table(const FarContext& far);
// Change of the loss by how many true tokens stand before a target.
PlotSpec far_context_plot(const Curve& curve);

}  // namespace alibi
