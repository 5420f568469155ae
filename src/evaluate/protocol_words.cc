// Protocols in words, for reports.
#include "base/strings.h"
#include "device/device.h"
#include "evaluate/protocol.h"

namespace alibi {
namespace {

std::string windows_in_words(const EvaluateConfig& rules) {
  switch (rules.protocol) {
    case Protocol::kNonOverlapping:
      return "Windows of each length stand side by side; every target is scored once, with what "
             "precedes it in its window.";
    case Protocol::kSliding:
      return cat("Windows of each length move on by ",
                 rules.stride ? cat(*rules.stride, " targets") : std::string("half a window"),
                 "; each scores the targets that are new in it.");
    case Protocol::kStreaming:
      return "The text runs through a cache of each length, read in steps of a quarter of it at "
             "most; every token keeps the keys and values of the time it was read.";
    case Protocol::kOnePass:
      return "One pass over windows of the longest length; a shorter length is the first positions "
             "of those windows, so lengths score different targets.";
  }
  return "";
}

std::string targets_in_words(Protocol protocol) {
  return cat(protocol == Protocol::kOnePass ? " The pass scores"
                                            : " Every length scores the same "
                                              "targets:",
             " all of the text, or, where it is longer than evaluate.max_tokens, whole windows of "
             "the longest length spread evenly over it. The text's first token is predicted from "
             "an end-of-document token, that of a later part from what precedes it in the text.");
}

std::string treatment_in_words(const EvaluateConfig& rules) {
  const std::string sinks =
      rules.sinks > 0 ? cat("The first ", rules.sinks, " tokens stay in the cache for good.") : "";
  if (rules.stretch == Stretch::kNone) return sinks;
  return cat(sinks, sinks.empty() ? "" : " ", "Positions are stretched (", name_of(rules.stretch),
             ") by ",
             rules.stretch_factor ? significant(*rules.stretch_factor, 4)
                                  : std::string("each length over the trained length"),
             ".");
}

std::string split_in_words(const EvaluateConfig& rules) {
  if (!rules.split_stride) return "";
  return cat(" Gains are split with windows slid by ", *rules.split_stride,
             " targets, so that each but the text's first has at least the length less ",
             *rules.split_stride, " tokens before it.");
}

}  // namespace

CurveProtocol describe_protocol(const Config& config, torch::Device device) {
  const EvaluateConfig& rules = config.evaluate;
  CurveProtocol protocol;
  protocol.name = rules.protocol;
  protocol.stride = rules.protocol == Protocol::kSliding ? rules.stride.value_or(0) : 0;
  protocol.sinks = rules.sinks;
  protocol.split_stride = rules.split_stride.value_or(0);
  protocol.description =
      windows_in_words(rules) + targets_in_words(rules.protocol) + split_in_words(rules);
  protocol.treatment = treatment_in_words(rules);
  protocol.document_borders =
      config.data.separate_documents
          ? "Each token sees its own document only."
          : "Documents form one stream and attention crosses their borders, as in training.";
  protocol.precision = config.runtime.precision == Precision::kBf16
                           ? "bf16 activations, fp32 logits"
                           : precision_words(config.runtime.precision);
  protocol.device = describe_device(device);
  return protocol;
}

}  // namespace alibi
