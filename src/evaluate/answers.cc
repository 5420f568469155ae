#include "evaluate/answers.h"

#include <algorithm>
#include <span>

#include "device/libtorch.h"
#include "device/memory.h"
#include "evaluate/protocol.h"
#include "evaluate/statistics.h"
#include "report/curve.h"

namespace alibi {
namespace {

// Of one text.
struct Score {
  float loss = 0, right = 0;  // nats of all tokens of its answers together; answers
};

class Asking {
 public:
  Asking(LoadedModel& loaded, const TextSample& filler, const AnswersOptions& options)
      : loaded_(loaded),
        options_(options),
        questions_(questions_of(options.rules, loaded.tokenizer, filler)) {}

  // One where the task has no depth.
  std::vector<double> depths() const {
    return questions_.has_depth ? rules().depths : std::vector<double>{kNotMeasured};
  }

  // As places of questions say it.
  double asked_depth(double depth) const {
    return questions_.has_depth ? depth : QuestionPlace{}.depth;
  }

  // Why nothing can be asked at this length.
  std::string why_not(std::int64_t length) const {
    std::string past = past_position_limit(loaded_.config.model, length);
    if (!past.empty()) return past;
    std::vector<double> asked;
    for (const double depth : depths()) asked.push_back(asked_depth(depth));
    return questions_.why_not(length, rules().trials, asked);
  }

  void count_cell() {
    ++cells_;
    report_progress();
  }

  void fill(AnswersCell& cell) {
    const std::vector<Question> texts = texts_of(cell, false);
    const std::vector<Score> scores = scores_of(texts, cell.length);
    cell.trials = std::ssize(texts);
    std::vector<float> losses, shares;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto answers = std::ssize(texts[i].answers);
      cell.answers += answers;
      cell.right += static_cast<std::int64_t>(scores[i].right);
      cell.size += static_cast<double>(texts[i].size) / static_cast<double>(cell.trials);
      losses.push_back(scores[i].loss / static_cast<float>(tokens_asked(texts[i])));
      shares.push_back(scores[i].right / static_cast<float>(answers));
    }
    cell.share = mean_of(shares);
    // Answers of one text are not independent.
    // Texts that are all alike say nothing of how they would differ.
    const bool alike = std::ranges::count(shares, shares.front()) == cell.trials;
    const Interval share =
        alike ? wilson_95(std::lround(cell.share * double(cell.trials)), cell.trials)
        : cell.answers == cell.trials ? wilson_95(cell.right, cell.trials)
                                      : middle_95(bootstrap_means(shares, 1));
    cell.share_low = std::max(share.low, 0.0);
    cell.share_high = std::min(share.high, 1.0);
    cell.loss = change_of(losses);
    if (questions_.has_control) cell.gain = change_of(gains(cell, losses));
  }

 private:
  const AnswersConfig& rules() const { return options_.rules.answers; }

  static std::int64_t tokens_asked(const Question& text) {
    std::int64_t tokens = 0;
    for (const AnswerSpan& answer : text.answers) tokens += answer.count;
    return tokens;
  }

  static BoundedMean change_of(const std::vector<float>& values) {
    const Interval interval = middle_95(bootstrap_means(values, 1));
    return {mean_of(values), interval.low, interval.high};
  }

  std::vector<float> gains(const AnswersCell& cell, const std::vector<float>& losses) {
    const std::vector<Question> controls = texts_of(cell, true);
    const std::vector<Score> scores = scores_of(controls, cell.length);
    std::vector<float> gains;
    for (std::size_t i = 0; i < losses.size(); ++i)
      gains.push_back(scores[i].loss / static_cast<float>(tokens_asked(controls[i])) - losses[i]);
    return gains;
  }

  std::vector<Question> texts_of(const AnswersCell& cell, bool control) const {
    std::vector<Question> texts;
    QuestionPlace place{
        .length = cell.length, .depth = asked_depth(cell.depth), .control = control};
    for (; place.trial < rules().trials; ++place.trial) texts.push_back(questions_.make(place));
    return texts;
  }

  // Batches as large as batch_tokens allows, each of one process.
  std::vector<Score> scores_of(const std::vector<Question>& texts, std::int64_t length) {
    const std::int64_t count = std::ssize(texts);
    const std::int64_t rows = std::max<std::int64_t>(1, options_.rules.batch_tokens / length);
    std::vector<float> numbers(static_cast<std::size_t>(2 * count));
    options_.share.fill(numbers, [&] {
      for (std::int64_t first = 0; first < count; first += rows) {
        if (!options_.share.owns(first / rows)) continue;
        score_batch({texts.data() + first, static_cast<std::size_t>(std::min(rows, count - first))},
                    length, numbers.data() + 2 * first);
        report_progress();
      }
    });
    std::vector<Score> scores;
    for (auto number = numbers.begin(); number != numbers.end(); number += 2)
      scores.push_back({number[0], number[1]});
    return scores;
  }

  // Shorter texts are padded behind, where no answer looks.
  void score_batch(std::span<const Question> texts, std::int64_t length, float* numbers) {
    const torch::NoGradGuard guard;
    torch::Tensor ids_BN =
        torch::full({std::ssize(texts), length + 1}, loaded_.tokenizer.end(), torch::kLong);
    for (std::size_t row = 0; row < texts.size(); ++row) {
      ensure(std::ssize(texts[row].ids) <= length + 1, "a text that is asked fits its length");
      std::copy(texts[row].ids.begin(), texts[row].ids.end(),
                ids_BN.data_ptr<std::int64_t>() + static_cast<std::int64_t>(row) * (length + 1));
    }
    ForwardOptions forward;
    forward.stretch = scoring_at(loaded_, options_.rules, length).stretch;
    const torch::Tensor hidden_BTC =
        loaded_.model->hidden(ids_BN.narrow(1, 0, length).to(loaded_.device), forward);
    for (std::size_t row = 0; row < texts.size(); ++row) {
      const auto at = static_cast<std::int64_t>(row);
      const Score score = score_text(texts[row], hidden_BTC[at], ids_BN[at]);
      *numbers++ = score.loss;
      *numbers++ = score.right;
    }
  }

  Score score_text(const Question& text, const torch::Tensor& hidden_TC,
                   const torch::Tensor& ids_N) {
    std::vector<std::int64_t> targets;
    for (const AnswerSpan& answer : text.answers)
      for (std::int64_t i = 0; i < answer.count; ++i) targets.push_back(answer.first + i);
    const torch::Tensor at_A = torch::tensor(targets);
    const torch::Tensor before_A = (at_A - 1).to(hidden_TC.device());
    const torch::Tensor logits_AV =
        loaded_.model->logits(hidden_TC.index_select(0, before_A)).cpu();
    const torch::Tensor ids_A = ids_N.index_select(0, at_A);
    Score score;
    std::int64_t first = 0;
    for (const AnswerSpan& answer : text.answers) {
      const Judged judged = judge_answer(logits_AV.narrow(0, first, answer.count),
                                         ids_A.narrow(0, first, answer.count));
      score.loss += static_cast<float>(judged.loss);
      score.right += judged.right ? 1 : 0;
      first += answer.count;
    }
    return score;
  }

  void report_progress() const {
    if (options_.progress)
      options_.progress(cells_, std::ssize(options_.lengths) * std::ssize(depths()));
  }

  LoadedModel& loaded_;
  const AnswersOptions& options_;
  Questions questions_;
  std::int64_t cells_ = 0;
};

}  // namespace

Judged judge_answer(const torch::Tensor& logits_AV, const torch::Tensor& ids_A) {
  const torch::Tensor losses_A =
      -logits_AV.to(torch::kFloat).log_softmax(1).gather(1, ids_A.unsqueeze(1));
  return {losses_A.sum().item<double>(), logits_AV.argmax(1).equal(ids_A)};
}

AnswersResult measure_answers(LoadedModel& loaded, const TextSample& filler,
                              const AnswersOptions& options) {
  AnswersResult result;
  result.position = name_of(loaded.config.model.position);
  result.checkpoint = loaded.folder.string();
  result.trained_length = batch_shape(loaded.config.batch).length;
  result.step = loaded.progress.step;
  Asking asking(loaded, filler, options);
  for (const std::int64_t length : options.lengths) {
    const std::string note = asking.why_not(length);
    for (const double depth : asking.depths()) {
      AnswersCell& cell = result.cells.emplace_back();
      cell.length = length;
      cell.depth = depth;
      cell.note = note;
      if (note.empty() && !fits_in_memory([&] { asking.fill(cell); })) {
        cell = {.length = length, .depth = depth, .note = kOutOfMemory};
      }
      asking.count_cell();
    }
  }
  return result;
}

}  // namespace alibi
