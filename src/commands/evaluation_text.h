// The held-out text of an evaluation: files the user names, else what the run held out.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/load_model.h"
#include "data/text_sample.h"
#include "report/curve.h"

namespace alibi {

struct EvaluationText {
  std::vector<std::string> files;  // as named, for reports
  TextSample sample;
};

// What `rule` takes of the text, tokenised with the model's own tokenizer. Throws Error when the
// text has not one window.
EvaluationText read_evaluation_text(const std::vector<std::string>& files,
                                    const LoadedModel& loaded, const SampleRule& rule);

CurveText describe_text(const EvaluationText& text, const Tokenizer& tokenizer);

}  // namespace alibi
