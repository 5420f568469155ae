#include "evaluate/passkey.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "base/strings.h"
#include "device/libtorch.h"
#include "device/memory.h"
#include "evaluate/protocol.h"
#include "evaluate/statistics.h"
#include "report/curve.h"

namespace alibi {
namespace {

using Ids = std::vector<std::int32_t>;

std::string five_digits(RandomKey key, std::uint64_t number) {
  return cat(10'000 + static_cast<std::int64_t>(uniform(key, number) * 90'000));
}

// "The pass key of box B": a name only where there are several.
std::string subject(const PasskeyPlace& place, std::int64_t document) {
  return place.documents == 1 ? "pass key"
                              : cat("pass key of box ", static_cast<char>('A' + document));
}

std::string statement(const PasskeyPlace& place, std::int64_t document, const std::string& key) {
  const std::string name = subject(place, document);
  return cat("\nThe ", name, " is ", key, "\nRemember it: the ", name, " is ", key, "\n");
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

RandomKey key_of_trial(const PasskeyPlace& place) {
  return RandomKey{0}.with("passkey").with(static_cast<std::uint64_t>(place.trial));
}

// All of a text but its filler.
struct Sentences {
  std::string key;
  Ids question, answer;
  std::vector<Ids> statements;  // by document
  std::int64_t tokens = 0;      // in all, with an end before each document
};

Sentences sentences_of(const Tokenizer& tokenizer, const PasskeyPlace& place) {
  const RandomKey random = key_of_trial(place);
  const std::int64_t asked = place.trial % place.documents;
  Sentences all;
  all.key = five_digits(random, static_cast<std::uint64_t>(asked));
  const std::string name = subject(place, asked);
  all.question = tokenizer.encode(cat("\nWhat is the ", name, "? The ", name, " is"));
  all.answer = tokenizer.encode(cat(" ", all.key, "\n"));
  all.answer.pop_back();  // the line's end only keeps the digits' tokens the same
  if (tokenizer.decode(all.answer) != " " + all.key && tokenizer.decode(all.answer) != all.key) {
    throw Error("evaluate.task", "the tokenizer joins digits with the end of a line",
                "passkeys need a tokenizer that keeps lines apart");
  }
  all.tokens = std::ssize(all.question) + std::ssize(all.answer) + place.documents;
  for (std::int64_t document = 0; document < place.documents; ++document) {
    const bool other = place.false_key && document == asked;
    const auto number = static_cast<std::uint64_t>(other ? place.documents : document);
    all.statements.push_back(
        tokenizer.encode(statement(place, document, five_digits(random, number))));
    all.tokens += std::ssize(all.statements.back());
  }
  return all;
}

// Losses and hits of the answers of texts of one length.
struct Answered {
  std::vector<float> loss;  // nats per token of each answer
  std::int64_t found = 0;
};

class Retrieval {
 public:
  Retrieval(LoadedModel& loaded, const TextSample& filler, const PasskeyOptions& options)
      : loaded_(loaded), filler_(filler), options_(options) {}

  // Why no key can be asked for at this length; keys differ in their number of tokens: all trials
  // fit, or none is asked.
  std::string why_not(std::int64_t length) const {
    if (std::string past = past_position_limit(loaded_.config.model, length); !past.empty())
      return past;
    const PasskeyConfig& rules = options_.rules.passkey;
    for (std::int64_t trial = 0; trial < rules.trials; ++trial) {
      for (const bool false_key : {false, true}) {
        const std::int64_t needed =
            passkey_least_length(loaded_.tokenizer, {length, 0, trial, rules.documents, false_key});
        if (needed > length) return "too short for the sentences";
      }
    }
    return "";
  }

  void count_cell() {
    ++cells_;
    report_progress();
  }

  void fill(PasskeyCell& cell) {
    const std::int64_t length = cell.length;
    const double depth = cell.depth;
    const Answered stated = answer(length, depth, false), control = answer(length, depth, true);
    std::vector<float> gains;
    for (std::size_t i = 0; i < stated.loss.size(); ++i)
      gains.push_back(control.loss[i] - stated.loss[i]);
    const Interval interval = middle_95(bootstrap_means(gains, 1));
    cell.trials = std::ssize(gains);
    cell.found = stated.found;
    const Interval share = wilson_95(cell.found, cell.trials);
    cell.share_low = share.low;
    cell.share_high = share.high;
    cell.gain = {mean_of(gains), interval.low, interval.high};
  }

 private:
  Answered answer(std::int64_t length, double depth, bool false_key) {
    const std::int64_t trials = options_.rules.passkey.trials;
    const std::int64_t rows = std::max<std::int64_t>(1, options_.rules.batch_tokens / length);
    std::vector<float> answers(static_cast<std::size_t>(2 * trials));  // loss and 1 where found
    options_.share.fill(answers, [&] {
      for (std::int64_t first = 0; first < trials; first += rows) {
        if (!options_.share.owns(first / rows)) continue;
        std::vector<PasskeyText> texts;
        for (std::int64_t trial = first; trial < std::min(first + rows, trials); ++trial)
          texts.push_back(
              passkey_text(loaded_.tokenizer, filler_,
                           {length, depth, trial, options_.rules.passkey.documents, false_key}));
        answer_batch(texts, length, answers.data() + 2 * first);
        report_progress();
      }
    });
    Answered all;
    for (auto answer = answers.begin(); answer != answers.end(); answer += 2) {
      all.loss.push_back(answer[0]);
      all.found += answer[1] > 0 ? 1 : 0;
    }
    return all;
  }

  void answer_batch(const std::vector<PasskeyText>& texts, std::int64_t length, float* answers) {
    const torch::NoGradGuard guard;
    torch::Tensor ids_BN = torch::empty({std::ssize(texts), length + 1}, torch::kLong);
    for (std::size_t row = 0; row < texts.size(); ++row) {
      std::copy(texts[row].ids.begin(), texts[row].ids.end(),
                ids_BN.data_ptr<std::int64_t>() + static_cast<std::int64_t>(row) * (length + 1));
    }
    ForwardOptions forward;
    forward.stretch = scoring_at(loaded_, options_.rules, length).stretch;
    const torch::Tensor hidden_BTC =
        loaded_.model->hidden(ids_BN.narrow(1, 0, length).to(loaded_.device), forward);
    for (std::size_t row = 0; row < texts.size(); ++row) {
      const std::int64_t count = texts[row].answer;
      const auto at = static_cast<std::int64_t>(row);
      const torch::Tensor logits_AV =
          loaded_.model->logits(hidden_BTC[at].narrow(0, length - count, count)).cpu();
      const torch::Tensor key_A = ids_BN[at].narrow(0, length + 1 - count, count);
      const PasskeyAnswer judged = judge_answer(logits_AV, key_A);
      *answers++ = judged.loss;
      *answers++ = judged.found ? 1 : 0;
    }
  }

  LoadedModel& loaded_;
  void report_progress() const {
    const PasskeyConfig& rules = options_.rules.passkey;
    if (options_.progress)
      options_.progress(cells_, std::ssize(options_.lengths) * std::ssize(rules.depths));
  }

  const TextSample& filler_;
  const PasskeyOptions& options_;
  std::int64_t cells_ = 0;
};

}  // namespace

PasskeyAnswer judge_answer(const torch::Tensor& logits_AV, const torch::Tensor& key_A) {
  const torch::Tensor losses_A =
      -logits_AV.to(torch::kFloat).log_softmax(1).gather(1, key_A.unsqueeze(1));
  return {losses_A.mean().item<float>(), logits_AV.argmax(1).equal(key_A)};
}

std::int64_t passkey_least_length(const Tokenizer& tokenizer, const PasskeyPlace& place) {
  return sentences_of(tokenizer, place).tokens - 1;
}

PasskeyText passkey_text(const Tokenizer& tokenizer, const TextSample& filler,
                         const PasskeyPlace& place) {
  const Sentences sentences = sentences_of(tokenizer, place);
  const std::int64_t room = place.length + 1 - sentences.tokens;
  if (room < 0) {
    throw Error("evaluate.passkey",
                cat("found length ", place.length, ", expected at least ", sentences.tokens - 1,
                    " tokens for the sentences"),
                "choose longer lengths");
  }
  PasskeyText text{{}, std::ssize(sentences.answer), sentences.key};
  const auto append = [&](const Ids& ids) {
    text.ids.insert(text.ids.end(), ids.begin(), ids.end());
  };
  for (std::int64_t document = 0; document < place.documents; ++document) {
    const std::int64_t count =
        room * (document + 1) / place.documents - room * document / place.documents;
    Ids around = filler_from(filler, tokenizer.end(),
                             key_of_trial(place).with(static_cast<std::uint64_t>(document)), count);
    const Ids& stated = sentences.statements[static_cast<std::size_t>(document)];
    around.insert(around.begin() + std::llround(place.depth * static_cast<double>(count)),
                  stated.begin(), stated.end());
    text.ids.push_back(tokenizer.end());
    append(around);
  }
  append(sentences.question);
  append(sentences.answer);
  return text;
}

PasskeyResult measure_passkeys(LoadedModel& loaded, const TextSample& filler,
                               const PasskeyOptions& options) {
  PasskeyResult result;
  result.position = name_of(loaded.config.model.position);
  result.checkpoint = loaded.folder.string();
  result.trained_length = batch_shape(loaded.config.batch).length;
  const std::vector<double>& depths = options.rules.passkey.depths;
  Retrieval retrieval(loaded, filler, options);
  for (const std::int64_t length : options.lengths) {
    const std::string note = retrieval.why_not(length);
    for (const double depth : depths) {
      PasskeyCell& cell = result.cells.emplace_back();
      cell.length = length;
      cell.depth = depth;
      cell.note = note;
      if (note.empty() && !fits_in_memory([&] { retrieval.fill(cell); })) cell.note = kOutOfMemory;
      retrieval.count_cell();
    }
  }
  return result;
}

}  // namespace alibi
