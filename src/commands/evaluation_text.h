// The held-out text of an evaluation: files the user names, else what the run held out.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/load_model.h"
#include "commands/evaluation_plan.h"
#include "data/text_sample.h"
#include "distributed/world.h"
#include "evaluate/key_tokens.h"
#include "evaluate/protocol.h"
#include "report/curve.h"

namespace alibi {

struct EvaluationText {
  std::vector<std::string> files;  // as named, for reports
  TextSample sample;
};

// What `rule` takes of the text, tokenised with the model's own tokenizer. Throws Error when the
// text has not one window.
EvaluationText read_evaluation_text(const std::vector<std::string>& files,
                                    const LoadedModel& loaded, const SampleRule& rule,
                                    const std::string& way_out = kShorterLengths);

// Loads a case's model and, unless `text` is null, reads its text as above, while other ranks wait.
// Throws Error where a rank has another text than the first.
LoadedModel load_for_evaluation(const EvaluationCase& one, World& world,
                                const std::vector<std::string>& files, const SampleRule& rule,
                                EvaluationText* text);

// The sample's key tokens, found by the evaluator that a case names; nothing where it names none.
KeyTokens load_key_tokens(const EvaluationCase& one, World& world, const LoadedModel& loaded,
                          const TextSample& sample);

CurveText describe_text(const EvaluationText& text, const Tokenizer& tokenizer);

// Throws Error where a run holds out another text than the first, of which `first` keeps what it
// was: what is held side by side is of one. Other prompts are another text.
void refuse_other_text(const std::string& run, const TextSample& sample, std::string& first);

}  // namespace alibi
