// How a model answers questions to a text, by length, and by the depth at which what is asked for
// stands.
#pragma once

#include <functional>
#include <vector>

#include "checkpoint/load_model.h"
#include "evaluate/questions.h"
#include "evaluate/share.h"
#include "report/answers.h"

namespace alibi {

// Of one answer: nats of its tokens together, and whether every one of them was the likeliest.
struct Judged {
  double loss = 0;
  bool right = false;
};
// `logits_AV` predict the answer's tokens `ids_A`; both on the CPU.
Judged judge_answer(const torch::Tensor& logits_AV, const torch::Tensor& ids_A);

struct AnswersOptions {
  std::vector<std::int64_t> lengths;
  EvaluateConfig rules;
  std::function<void(std::int64_t done, std::int64_t total)> progress;  // cells; also in between
  ScoringShare share = {};
};

// A cell for each length and depth. Lengths that the model or memory cannot take, or that are too
// short for a text, become cells with a note. `filler` outlives the call.
AnswersResult measure_answers(LoadedModel& loaded, const TextSample& filler,
                              const AnswersOptions& options);

}  // namespace alibi
