// The held-out text of an evaluation: files the user names, else what the run held out.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/load_model.h"
#include "data/token_stream.h"

namespace alibi {

struct EvaluationText {
  std::vector<std::string> files;  // as named, for reports
  TokenStream stream;
};

// At most `most` tokens, tokenised with the model's own tokenizer. Throws Error when nothing is
// there.
EvaluationText read_evaluation_text(const std::vector<std::string>& files,
                                    const LoadedModel& loaded, std::int64_t most);

}  // namespace alibi
