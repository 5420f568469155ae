// Retrieval: a key is stated somewhere in a long text and asked for at its end (Mohtashami and
// Jaggi 2023, section 4.2).
//
// A text of `length` tokens is held-out text with a statement of a five-digit key, and a question.
// A line ends after every key, so that its tokens are the same at every depth. With several
// documents each has its own key under its own name, and one of them is asked for.
#pragma once

#include <string>

#include "checkpoint/load_model.h"
#include "evaluate/score.h"
#include "report/passkey.h"

namespace alibi {

// One text: `ids` end with the answer's tokens.
struct PasskeyText {
  std::vector<std::int32_t> ids;  // length + 1
  std::int64_t answer = 0;        // tokens at the end
  std::string key;
};

struct PasskeyPlace {
  std::int64_t length = 0;
  double depth = 0;  // 0: the sentence begins its document, 1: it ends it
  std::int64_t trial = 0;
  std::int64_t documents = 1;
  bool false_key = false;  // the control: states another key than the answer
};

// The least length that holds a text's sentences.
std::int64_t passkey_least_length(const Tokenizer& tokenizer, const PasskeyPlace& place);

// A pure function of its arguments. Throws Error when `length` is too short for the sentences, or
// when the tokenizer joins a key's last digit with the end of its line.
PasskeyText passkey_text(const Tokenizer& tokenizer, const TextSample& filler,
                         const PasskeyPlace& place);

// How a model answers: mean nats per token of the key, and whether every token of it was the
// likeliest. `logits_AV` predict the answer's tokens `key_A`; both on the CPU.
struct PasskeyAnswer {
  float loss = 0;
  bool found = false;
};
PasskeyAnswer judge_answer(const torch::Tensor& logits_AV, const torch::Tensor& key_A);

struct PasskeyOptions {
  std::vector<std::int64_t> lengths;
  EvaluateConfig rules;
  std::function<void(std::int64_t done, std::int64_t total)> progress;  // cells; also in between
  ScoringShare share = {};
};

// A cell for each length and depth. Lengths that the model or memory cannot take, or that are too
// short for the sentences, become cells with a note.
PasskeyResult measure_passkeys(LoadedModel& loaded, const TextSample& filler,
                               const PasskeyOptions& options);

}  // namespace alibi
