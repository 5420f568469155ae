#include "evaluate/questions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/random.h"
#include "base/strings.h"
#include "text/encode_parallel.h"
#include "text/tasks.h"

namespace alibi {
namespace {

using Ids = std::vector<std::int32_t>;

std::string five_digits(RandomKey key, std::uint64_t number) {
  return cat(10'000 + static_cast<std::int64_t>(uniform(key, number) * 90'000));
}

// "The pass key of box B": a name only where there are several.
std::string subject(std::int64_t documents, std::int64_t document) {
  return documents == 1 ? "pass key" : cat("pass key of box ", static_cast<char>('A' + document));
}

// Consecutive tokens of the sample from a drawn place on, around its end.
Ids filler_from(const TextSample& filler, std::int32_t end, RandomKey key, std::int64_t count) {
  const std::vector<std::int32_t>& all = filler.ids;
  const auto start = static_cast<std::size_t>(uniform(key, 0) * static_cast<double>(all.size()));
  Ids ids;
  for (std::size_t i = 0; std::ssize(ids) < count; ++i) {
    ensure(i < all.size() || !ids.empty(), "a filler has tokens");
    const std::int32_t id = all[(start + i) % all.size()];
    if (id != end) ids.push_back(id);  // it becomes one document
  }
  return ids;
}

// Of the middle of a text, as `alibi prepare` encodes what follows a turn; here a line may end,
// too, where the space that the tokenizer puts in front is a token of its own.
Ids encode_within(const Tokenizer& tokenizer, const std::string& text) {
  if (!tokenizer.adds_space() || text.starts_with(' ')) {
    WordMemory memory;
    return encode_behind(tokenizer, text, memory);
  }
  Ids ids = tokenizer.encode(text);
  if (!ids.empty() && tokenizer.surface(ids.front()) == " ") ids.erase(ids.begin());
  return ids;
}

RandomKey key_of_trial(const QuestionPlace& place) {
  return RandomKey{0}.with("passkey").with(static_cast<std::uint64_t>(place.trial));
}

// All of a text but its filler.
struct Sentences {
  std::string key;
  Ids question, answer;
  std::vector<Ids> statements;  // by document
  std::int64_t tokens = 0;      // in all, with an end before each document
};

Sentences sentences_of(const Tokenizer& tokenizer, std::int64_t documents,
                       const QuestionPlace& place) {
  const RandomKey random = key_of_trial(place);
  const std::int64_t asked = place.trial % documents;
  Sentences all;
  all.key = five_digits(random, static_cast<std::uint64_t>(asked));
  all.question = encode_within(tokenizer, passkey_question(subject(documents, asked)));
  all.answer = encode_within(tokenizer, cat(" ", all.key, "\n"));
  all.answer.pop_back();  // the line's end only keeps the digits' tokens the same
  if (tokenizer.decode(all.answer) != " " + all.key && tokenizer.decode(all.answer) != all.key) {
    throw Error("evaluate.task", "the tokenizer joins digits with the end of a line",
                "passkeys need a tokenizer that keeps lines apart");
  }
  all.tokens = std::ssize(all.question) + std::ssize(all.answer) + documents;
  for (std::int64_t document = 0; document < documents; ++document) {
    const bool other = place.control && document == asked;
    const auto number = static_cast<std::uint64_t>(other ? documents : document);
    all.statements.push_back(encode_within(
        tokenizer, passkey_statement(subject(documents, document), five_digits(random, number))));
    all.tokens += std::ssize(all.statements.back());
  }
  return all;
}

Questions passkey_questions(const Tokenizer& tokenizer, const TextSample& filler,
                            std::int64_t documents) {
  Questions questions;
  questions.has_depth = questions.has_control = true;
  questions.unit = "documents";
  // Keys differ in their number of tokens: all trials fit, or none is asked.
  questions.why_not = [tokenizer, documents](std::int64_t length, std::int64_t trials,
                                             const std::vector<double>&) {
    for (std::int64_t trial = 0; trial < trials; ++trial) {
      for (const bool control : {false, true}) {
        if (passkey_least_length(tokenizer, documents,
                                 {.length = length, .trial = trial, .control = control}) > length)
          return "too short for the sentences";
      }
    }
    return "";
  };
  questions.make = [tokenizer, &filler, documents](const QuestionPlace& place) {
    return passkey_text(tokenizer, filler, documents, place);
  };
  return questions;
}

// The largest texts of a task that lengths hold.
class TaskTexts {
 public:
  TaskTexts(const TextTask& task, const Tokenizer& tokenizer, const AnswersConfig& rules)
      : task_(task), tokenizer_(tokenizer), ignored_(rules.ignored), idle_(rules.idle) {}

  // Texts of one size differ in their tokens: of a trial's, the largest size that fits, near the
  // one that fits on the whole.
  Question make(const QuestionPlace& place) const {
    std::int64_t size = usual_size(place.length);
    for (;;) {
      Question text = of_size(size, place);
      const std::int64_t tokens = std::ssize(text.ids) - 1;
      if (tokens <= place.length || size == task_.least) return text;
      size = std::clamp(size * place.length / tokens, task_.least, size - 1);
    }
  }

  // What is asked for depends on the depth, and with it the number of its tokens.
  std::string why_not(std::int64_t length, std::int64_t trials,
                      const std::vector<double>& depths) const {
    for (std::int64_t trial = 0; trial < trials; ++trial) {
      for (const double depth : depths) {
        const Question least =
            of_size(task_.least, {.length = length, .depth = depth, .trial = trial});
        if (std::ssize(least.ids) - 1 > length)
          return task_.least == 0 ? std::string("too short for the question")
                                  : cat("too short for ", task_.least, " ", task_.unit);
      }
    }
    return "";
  }

 private:
  Question of_size(std::int64_t size, const QuestionPlace& place) const {
    const RandomKey random = RandomKey{0}
                                 .with("evaluate")
                                 .with(task_.name)
                                 .with(static_cast<std::uint64_t>(place.trial));
    Question text;
    text.ids.push_back(tokenizer_.end());
    text.size = size;
    const TaskShape shape{.size = size, .depth = place.depth, .ignored = ignored_, .idle = idle_};
    for (const TaskPiece& piece : task_text(task_, shape, random)) {
      const bool is_first = text.ids.size() == 1;
      const Ids ids =
          is_first ? tokenizer_.encode(piece.text) : encode_within(tokenizer_, piece.text);
      if (piece.answer) text.answers.push_back({std::ssize(text.ids), std::ssize(ids)});
      text.ids.insert(text.ids.end(), ids.begin(), ids.end());
    }
    return text;
  }

  // By the first trial's texts, whose tokens grow with their size.
  std::int64_t usual_size(std::int64_t length) const {
    std::int64_t& known = usual_sizes_[length];
    if (known == 0) known = find_usual_size(length);
    return known;
  }

  std::int64_t find_usual_size(std::int64_t length) const {
    const auto fits = [&](std::int64_t size) {
      return std::ssize(of_size(size, {.length = length}).ids) - 1 <= length;
    };
    std::int64_t low = task_.least, high = low + 1;
    for (; high <= task_.most && fits(high); high *= 2) low = high;
    high = std::min(high, task_.most + 1);
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      (fits(middle) ? low : high) = middle;
    }
    return low;
  }

  const TextTask& task_;
  Tokenizer tokenizer_;
  double ignored_, idle_;
  mutable std::map<std::int64_t, std::int64_t> usual_sizes_;  // by length; not for several threads
};

Questions task_questions(const TextTask& task, const Tokenizer& tokenizer,
                         const AnswersConfig& rules) {
  const auto texts = std::make_shared<const TaskTexts>(task, tokenizer, rules);
  return {.why_not =
              [texts](std::int64_t length, std::int64_t trials, const std::vector<double>& depths) {
                return texts->why_not(length, trials, depths);
              },
          .make = [texts](const QuestionPlace& place) { return texts->make(place); },
          .has_depth = task.has_depth,
          .has_control = false,
          .unit = task.unit};
}

}  // namespace

std::int64_t passkey_least_length(const Tokenizer& tokenizer, std::int64_t documents,
                                  const QuestionPlace& place) {
  return sentences_of(tokenizer, documents, place).tokens - 1;
}

Question passkey_text(const Tokenizer& tokenizer, const TextSample& filler, std::int64_t documents,
                      const QuestionPlace& place) {
  const Sentences sentences = sentences_of(tokenizer, documents, place);
  const std::int64_t room = place.length + 1 - sentences.tokens;
  if (room < 0) {
    throw Error("evaluate.task",
                cat("found length ", place.length, ", expected at least ", sentences.tokens - 1,
                    " tokens for the sentences"),
                "choose longer lengths");
  }
  Question text;
  text.size = documents;
  const auto append = [&](const Ids& ids) {
    text.ids.insert(text.ids.end(), ids.begin(), ids.end());
  };
  for (std::int64_t document = 0; document < documents; ++document) {
    const std::int64_t count = room * (document + 1) / documents - room * document / documents;
    Ids around = filler_from(filler, tokenizer.end(),
                             key_of_trial(place).with(static_cast<std::uint64_t>(document)), count);
    const Ids& stated = sentences.statements[static_cast<std::size_t>(document)];
    around.insert(around.begin() + std::llround(place.depth * static_cast<double>(count)),
                  stated.begin(), stated.end());
    text.ids.push_back(tokenizer.end());
    append(around);
  }
  append(sentences.question);
  text.answers.push_back({std::ssize(text.ids), std::ssize(sentences.answer)});
  append(sentences.answer);
  return text;
}

Questions questions_of(const EvaluateConfig& rules, const Tokenizer& tokenizer,
                       const TextSample& filler) {
  if (rules.task == Task::kPasskey)
    return passkey_questions(tokenizer, filler, rules.answers.documents);
  const TextTask* const task = find_task(name_of(rules.task));
  ensure(task != nullptr, "every evaluate.task but perplexity and passkey is a task of texts");
  return task_questions(*task, tokenizer, rules.answers);
}

}  // namespace alibi
