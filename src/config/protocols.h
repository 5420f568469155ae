// The evaluation protocols, a row for each: which windows there are and what they score. All others
// ask the row; how a model is scored is in evaluate/protocol.cc.
#pragma once

#include <string>

#include "config/evaluation_config.h"

namespace alibi {

struct ProtocolRow {
  std::string (*description)(const EvaluateConfig& rules);  // a sentence on its windows
  bool side_by_side = false;  // windows that do not overlap; evaluate.split_stride slides them, too
  bool slides = false;        // by evaluate.stride
  bool streams = false;       // through one cache, with evaluate.sinks; documents are not separate
  bool one_pass = false;      // over the longest windows: each length scores targets of its own
  // A length of context is read before each part of the text.
  bool reads_back() const { return slides || streams; }
};

const ProtocolRow& protocol_row(Protocol protocol);

// "evaluate.protocol is "sliding"": the condition on keys that only such protocols have.
std::string protocol_condition(bool ProtocolRow::*property);

}  // namespace alibi
