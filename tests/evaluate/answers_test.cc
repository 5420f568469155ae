// Texts that ask for answers, and what is counted of these.
#include "evaluate/answers.h"
#include "device/libtorch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "evaluate/tiny_model.h"
#include "support/error_text.h"
#include "support/sentencepiece_model.h"
#include "support/small_text.h"
#include "support/small_tokenizer.h"
#include "text/tasks.h"

namespace alibi {
namespace {

using test::some_targets;
using test::tiny;
using test::whole;

Question make(const QuestionPlace& place, std::int64_t documents = 1) {
  return passkey_text(Tokenizer::bytes(), whole(some_targets(400), 100), documents, place);
}

std::string words(const Question& text) { return Tokenizer::bytes().decode(text.ids); }

// An answer, without the space before it.
std::string answer(const Question& text, std::size_t which = 0) {
  const AnswerSpan span = text.answers.at(which);
  return Tokenizer::bytes()
      .decode(std::span(text.ids).subspan(static_cast<std::size_t>(span.first),
                                          static_cast<std::size_t>(span.count)))
      .substr(1);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST(Passkey, ATextHasItsLengthItsKeyAndItsAnswer) {
  for (const double depth : {0.0, 0.5, 1.0}) {
    const Question text = make({.length = 300, .depth = depth, .trial = 3});
    EXPECT_EQ(std::ssize(text.ids), 301);
    ASSERT_EQ(text.answers.size(), 1U);
    EXPECT_EQ(text.answers[0].count, 6) << "a space and five digits";
    const std::string key = answer(text);
    const std::string all = words(text);
    EXPECT_TRUE(all.ends_with("The pass key is " + key)) << all;
    EXPECT_EQ(count(all, key), 3U) << "stated twice, answered once";
    const std::string stated = "\nThe pass key is 12345\nRemember it: the pass key is 12345\n";
    const auto filler = static_cast<double>(all.find("\nWhat is the") - stated.size());
    EXPECT_NEAR(static_cast<double>(all.find("\nThe pass key is")), depth * filler, 1);
  }
}

TEST(Passkey, TextsDependOnTheirPlaceOnly) {
  const QuestionPlace place{.length = 300, .depth = 0.25, .trial = 1};
  EXPECT_EQ(make(place).ids, make(place).ids);
  QuestionPlace other = place;
  other.trial = 2;
  EXPECT_NE(answer(make(place)), answer(make(other)));
}

TEST(Passkey, AFalseKeyIsStatedAndNotAskedFor) {
  QuestionPlace place{.length = 300, .depth = 0.5, .trial = 1};
  const Question told = make(place);
  place.control = true;
  const Question untold = make(place);
  EXPECT_EQ(answer(told), answer(untold));
  EXPECT_EQ(count(words(untold), answer(told)), 1U) << "in the answer alone";
  EXPECT_EQ(told.ids.size(), untold.ids.size());
}

TEST(Passkey, SeveralDocumentsEachHaveAKey) {
  for (const std::int64_t trial : {4, 5}) {
    const Question text = make({.length = 500, .depth = 0.5, .trial = trial}, 2);
    const std::string all = words(text);
    EXPECT_EQ(std::ssize(text.ids), 501);
    EXPECT_EQ(count(all, "\nThe pass key of box A is"), 1U);
    EXPECT_EQ(count(all, "\nThe pass key of box B is"), 1U);
    const std::string asked = trial % 2 == 0 ? "A" : "B";
    EXPECT_TRUE(all.ends_with("The pass key of box " + asked + " is " + answer(text)));
    EXPECT_EQ(std::count(text.ids.begin(), text.ids.end(), Tokenizer::kEnd), 2);
  }
}

// Pieces of several characters: the digits are the same tokens wherever the key is stated.
TEST(Passkey, KeysAreTheSameTokensWithLearnedPieces) {
  const Tokenizer tokenizer = small_tokenizer();
  const TextSample filler = whole(tokenizer.encode(small_text(6'000)), 100);
  for (std::int64_t trial = 0; trial < 20; ++trial) {
    const QuestionPlace place{.length = 200, .depth = 0.5, .trial = trial};
    const Question text = passkey_text(tokenizer, filler, 1, place);
    ASSERT_EQ(std::ssize(text.ids), 201);
    const std::vector<std::int32_t> answer(text.ids.begin() + text.answers[0].first,
                                           text.ids.end());
    int stated = 0;
    for (auto at = text.ids.begin(); at != text.ids.end(); ++at) {
      at = std::search(at, text.ids.end(), answer.begin(), answer.end());
      if (at == text.ids.end()) break;
      ++stated;
    }
    EXPECT_EQ(stated, 3) << "stated twice, answered once";
    EXPECT_GE(passkey_least_length(tokenizer, 1, place), std::ssize(answer) * 3);
  }
}

TEST(Passkey, ALengthTooShortForTheSentencesIsRefused) {
  EXPECT_ERROR_AT(error_text([] { make({.length = 60}); }), "evaluate.task", 60);
}

TEST(Answers, AnAnswerIsRightWhenEveryTokenOfItIsTheLikeliest) {
  const torch::Tensor key_A = torch::tensor({2, 0, 1}, torch::kLong);
  torch::Tensor logits_AV = torch::zeros({3, 4});
  for (int i = 0; i < 3; ++i) logits_AV[i][key_A[i].item<std::int64_t>()] = 1.0F;
  const Judged right = judge_answer(logits_AV, key_A);
  EXPECT_TRUE(right.right);
  EXPECT_NEAR(right.loss, 3 * (std::log(std::exp(1.0) + 3) - 1), 1e-6);
  logits_AV[1][3] = 2.0F;
  const Judged wrong = judge_answer(logits_AV, key_A);
  EXPECT_FALSE(wrong.right) << "one token of three";
  EXPECT_GT(wrong.loss, right.loss);
}

// The gain is the loss of the answer where another key was stated, less that where it was itself.
TEST(Answers, TheGainIsWhatStatingTheKeyIsWorth) {
  LoadedModel loaded = tiny("alibi");
  const TextSample filler = whole(some_targets(400), 100);
  AnswersOptions options{.lengths = {256}, .rules = {}, .progress = {}};
  options.rules.task = Task::kPasskey;
  options.rules.answers.trials = 3;
  options.rules.answers.depths = {0.5};
  const AnswersResult result = measure_answers(loaded, filler, options);
  const torch::NoGradGuard guard;
  const auto loss = [&](std::int64_t trial, bool control) {
    const Question text =
        passkey_text(Tokenizer::bytes(), filler, 1,
                     {.length = 256, .depth = 0.5, .trial = trial, .control = control});
    const std::int64_t count = text.answers[0].count;
    const std::vector<std::int64_t> ids(text.ids.begin(), text.ids.end());
    const torch::Tensor all = torch::tensor(ids).unsqueeze(0);
    const torch::Tensor logits_NV =
        loaded.model->logits(loaded.model->hidden(all.narrow(1, 0, 256)))[0];
    return judge_answer(logits_NV.narrow(0, 256 - count, count),
                        all[0].narrow(0, 257 - count, count))
               .loss /
           static_cast<double>(count);
  };
  double gain = 0;
  for (std::int64_t trial = 0; trial < 3; ++trial)
    gain += (loss(trial, true) - loss(trial, false)) / 3;
  EXPECT_NE(gain, 0);
  EXPECT_NEAR(result.cells.at(0).gain.mean, gain, 2e-5);
  // What curves do to positions is done here too.
  options.rules.stretch = Stretch::kLinear;
  EXPECT_NE(measure_answers(loaded, filler, options).cells.at(0).gain.mean,
            result.cells.at(0).gain.mean);
}

// Seen failing while it threw away what was measured.
TEST(Answers, ALengthThatMemoryDoesNotTakeIsReportedAndTheOthersAreMeasured) {
  LoadedModel loaded = tiny("alibi");
  AnswersOptions options{.lengths = {256, 512}, .rules = {}, .progress = {}};
  options.rules.task = Task::kPasskey;
  options.rules.answers.trials = 4;
  options.rules.answers.depths = {0.5};
  bool lacking = true;
  options.progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 2);
    if (done == 0 && std::exchange(lacking, false)) throw std::bad_alloc();
  };
  const AnswersResult result = measure_answers(loaded, whole(some_targets(400), 100), options);
  ASSERT_EQ(result.cells.size(), 2U);
  EXPECT_EQ(result.cells[0].note, kOutOfMemory);
  EXPECT_EQ(result.cells[1].note, "");
  EXPECT_EQ(result.cells[1].trials, 4);
}

TEST(Answers, EveryLengthAndDepthIsACell) {
  LoadedModel loaded = tiny("learned", {"model.max_sequence_length=256"});
  AnswersOptions options{.lengths = {32, 256, 512}, .rules = {}, .progress = {}};
  options.rules.task = Task::kPasskey;
  options.rules.answers.trials = 4;
  options.rules.answers.depths = {0, 1};
  const AnswersResult result = measure_answers(loaded, whole(some_targets(400), 100), options);
  ASSERT_EQ(result.cells.size(), 6U);
  EXPECT_NAMES(result.cells[0].note, "too short");
  EXPECT_NAMES(result.cells[5].note, "learned", 256);
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) {
    EXPECT_EQ(result.cells[i].note, "");
    EXPECT_EQ(result.cells[i].trials, 4);
    EXPECT_EQ(result.cells[i].right, 0) << "random weights";
    EXPECT_TRUE(std::isfinite(result.cells[i].gain.mean));
    EXPECT_LE(result.cells[i].gain.low, result.cells[i].gain.mean);
  }
}

// Every name of evaluate.task but the first is a task of texts, and the other way round.
TEST(TaskQuestions, EveryTaskHasAName) {
  std::vector<std::string> names = {"perplexity"};
  for (const std::string& name : task_names()) names.push_back(name);
  const auto known = enum_names(Task());
  EXPECT_EQ(names, std::vector<std::string>(known.begin(), known.end()));
}

EvaluateConfig rules_of(Task task) {
  EvaluateConfig rules;
  rules.task = task;
  rules.answers.trials = 4;
  rules.answers.depths = {0, 1};
  return rules;
}

constexpr Task kTasks[] = {Task::kRecall,    Task::kCopy,        Task::kLookup,
                           Task::kFlipFlop,  Task::kNeedle,      Task::kNeedles,
                           Task::kVariables, Task::kCommonWords, Task::kFrequentWords};

TEST(TaskQuestions, FillTheirLength) {
  for (const Tokenizer& tokenizer : {Tokenizer::bytes(), small_tokenizer()}) {
    for (const Task task : kTasks) {
      const TextSample none;
      const Questions questions = questions_of(rules_of(task), tokenizer, none);
      for (const std::int64_t length : {600, 2400}) {
        ASSERT_EQ(questions.why_not(length, 4, {0.5}), "") << name_of(task);
        for (std::int64_t trial = 0; trial < 4; ++trial) {
          const Question text = questions.make({.length = length, .trial = trial});
          const std::int64_t tokens = std::ssize(text.ids) - 1;
          EXPECT_LE(tokens, length) << name_of(task);
          EXPECT_GT(tokens, 0.8 * static_cast<double>(length) - 60) << name_of(task);
          EXPECT_EQ(text.ids.front(), tokenizer.end());
          const AnswerSpan last = text.answers.back();
          EXPECT_EQ(last.first + last.count, std::ssize(text.ids)) << "it ends with an answer";
        }
      }
    }
  }
}

TEST(TaskQuestions, HaveTheAnswersOfTheirTexts) {
  const TextSample none;
  const Questions questions = questions_of(rules_of(Task::kRecall), Tokenizer::bytes(), none);
  const Question text = questions.make({.length = 600, .trial = 2});
  const std::string all = words(text);
  EXPECT_EQ(std::ssize(text.answers), text.size) << "one for each pair";
  for (std::size_t i = 0; i < text.answers.size(); ++i) {
    const auto at = static_cast<std::size_t>(text.answers[i].first) - 1;  // behind the end token
    const std::string pair = all.substr(at - 3, 6);                       // " ab 12"
    EXPECT_EQ(pair.substr(4), answer(text, i));
    EXPECT_LT((" " + all).find(pair), at - 3) << pair << " stands before, too";
  }
}

// Training has read the answers behind one space; a tokenizer that puts a space in front of every
// text must not add another.
TEST(TaskQuestions, AreTheTokensOfOneText) {
  const Tokenizer prefixed = Tokenizer::from_model(
      sentencepiece_model({{"byte_fallback", "true"}, {"vocab_size", "500"}}), "m");
  const TextSample filler = whole(prefixed.encode(small_text(4000)), 100);
  for (const Task task : {Task::kRecall, Task::kPasskey}) {
    const Question text =
        questions_of(rules_of(task), prefixed, filler).make({.length = 300, .trial = 1});
    const std::string all = prefixed.decode(text.ids);
    for (const AnswerSpan& span : text.answers) {
      const auto ids = std::span(text.ids).subspan(static_cast<std::size_t>(span.first),
                                                   static_cast<std::size_t>(span.count));
      std::string said;
      for (const std::int32_t id : ids) said += prefixed.surface(id);
      EXPECT_EQ(said.rfind(' '), 0U) << said;
    }
    if (task == Task::kPasskey) continue;  // its filler may have any spaces
    EXPECT_EQ(all.find("  "), std::string::npos) << all;
  }
}

TEST(Answers, TextsThatAreAllAlikeHaveAnInterval) {
  LoadedModel loaded = tiny("alibi");
  AnswersOptions options;
  options.rules = rules_of(Task::kRecall);
  options.rules.answers.trials = 4;
  options.lengths = {200};
  const AnswersCell cell =
      measure_answers(loaded, whole(some_targets(400), 100), options).cells.at(0);
  ASSERT_EQ(cell.right, 0) << "not trained";
  EXPECT_EQ(cell.share_low, 0);
  EXPECT_NEAR(cell.share_high, 0.4899, 1e-3) << "Wilson, none of 4";
}

TEST(TaskQuestions, NeedTheirLeastSize) {
  const TextSample none;
  for (const Task task : kTasks) {
    const Questions questions = questions_of(rules_of(task), Tokenizer::bytes(), none);
    EXPECT_NE(questions.why_not(3, 4, {0.5}), "") << name_of(task);
  }
}

// What is asked for depends on the depth, and so do its tokens: where a length is not refused,
// every text fits it. Seen failing with the depth 0.5 tried for all.
TEST(TaskQuestions, FitEveryLengthThatIsNotRefusedAtAnyDepth) {
  const TextSample none;
  const std::vector<double> depths = {0, 0.5, 1};
  // Of the letters that the look-up may ask for one alone is one token behind a space.
  std::string known = small_text(20'000);
  for (int i = 0; i < 2000; ++i) known += " k";
  const Tokenizer tokenizer = Tokenizer::from_model(
      sentencepiece_model({{"byte_fallback", "true"}, {"vocab_size", "600"}}, known), "m");
  for (const Task task : kTasks) {
    const Questions questions = questions_of(rules_of(task), tokenizer, none);
    int asked = 0;
    for (std::int64_t length = 1; length < 400; length += length < 60 ? 1 : 9) {
      if (!questions.why_not(length, 1, depths).empty()) continue;
      ++asked;
      for (const double depth : depths) {
        const Question text = questions.make({.length = length, .depth = depth});
        ASSERT_LE(std::ssize(text.ids) - 1, length) << name_of(task) << ", depth " << depth;
      }
    }
    EXPECT_GT(asked, 0) << name_of(task);
  }
}

// The loss and the share of what is right, beside the logits of each text alone.
TEST(Answers, AreThoseOfEachTextAlone) {
  LoadedModel loaded = tiny("alibi");
  const TextSample none;
  AnswersOptions options{.lengths = {96, 200}, .rules = rules_of(Task::kFlipFlop), .progress = {}};
  options.rules.batch_tokens = 400;
  const AnswersResult result = measure_answers(loaded, none, options);
  ASSERT_EQ(result.cells.size(), 2U) << "no depths";
  const Questions questions = questions_of(options.rules, loaded.tokenizer, none);
  const torch::NoGradGuard guard;
  for (const AnswersCell& cell : result.cells) {
    double loss = 0, share = 0;
    std::int64_t answers = 0;
    for (std::int64_t trial = 0; trial < 4; ++trial) {
      const Question text = questions.make({.length = cell.length, .trial = trial});
      const std::vector<std::int64_t> ids(text.ids.begin(), text.ids.end());
      const torch::Tensor all_N = torch::tensor(ids);
      const torch::Tensor logits_TV =
          loaded.model->logits(loaded.model->hidden(all_N.unsqueeze(0)))[0];
      double nats = 0, tokens = 0, right = 0;
      for (const AnswerSpan& span : text.answers) {
        const Judged one = judge_answer(logits_TV.narrow(0, span.first - 1, span.count),
                                        all_N.narrow(0, span.first, span.count));
        nats += one.loss;
        tokens += static_cast<double>(span.count);
        right += one.right ? 1 : 0;
      }
      answers += std::ssize(text.answers);
      loss += nats / tokens / 4;
      share += right / static_cast<double>(text.answers.size()) / 4;
    }
    EXPECT_EQ(cell.note, "");
    EXPECT_EQ(cell.trials, 4);
    EXPECT_EQ(cell.answers, answers);
    EXPECT_NEAR(cell.loss.mean, loss, 2e-5);
    EXPECT_NEAR(cell.share, share, 1e-6);
    EXPECT_LE(cell.loss.low, cell.loss.mean);
    EXPECT_FALSE(std::isfinite(cell.gain.mean)) << "no control";
    EXPECT_FALSE(std::isfinite(cell.depth));
  }
}

}  // namespace
}  // namespace alibi
