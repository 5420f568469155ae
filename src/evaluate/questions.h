// Texts that ask for answers: a key hidden in held-out text, or a task of text/tasks.h.
//
// A text begins with an end token and holds at most `length` tokens behind it. It is a pure
// function of its place, the tokenizer and, for passkeys, the filler.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/config.h"
#include "data/text_sample.h"
#include "text/tokenizer.h"

namespace alibi {

struct QuestionPlace {
  std::int64_t length = 0;
  double depth = 0.5;  // where what is asked for stands: 0 at the start, 1 at the end
  std::int64_t trial = 0;
  bool control = false;  // states another key than the answer
};

// Tokens first .. first + count - 1 of a text.
struct AnswerSpan {
  std::int64_t first = 0, count = 0;
};

struct Question {
  std::vector<std::int32_t> ids;    // up to length + 1
  std::vector<AnswerSpan> answers;  // at least one, rising
  std::int64_t size = 0;            // in the task's units; a passkey's documents
};

struct Questions {
  // Why there are none of that length; "" where there are, for so many trials at all these depths.
  std::function<std::string(std::int64_t length, std::int64_t trials,
                            const std::vector<double>& depths)>
      why_not;
  std::function<Question(const QuestionPlace&)> make;  // of a length that why_not() names none for
  bool has_depth = false;
  bool has_control = false;
  std::string unit;  // of Question::size
};

// Those of rules.task, which is not perplexity.
Questions questions_of(const EvaluateConfig& rules, const Tokenizer& tokenizer,
                       const TextSample& filler);

// A key is stated somewhere in a long text and asked for at its end (Mohtashami and Jaggi 2023,
// section 4.2). A text of `length` tokens is held-out text with a statement of a five-digit key,
// and a question. A line ends after every key, so that its tokens are the same at every depth. With
// several documents each has its own key under its own name, and one of them is asked for. Throws
// Error when `length` is too short for the sentences, or when the tokenizer joins a key's last
// digit with the end of its line.
Question passkey_text(const Tokenizer& tokenizer, const TextSample& filler, std::int64_t documents,
                      const QuestionPlace& place);

// The least length that holds a text's sentences.
std::int64_t passkey_least_length(const Tokenizer& tokenizer, std::int64_t documents,
                                  const QuestionPlace& place);

}  // namespace alibi
