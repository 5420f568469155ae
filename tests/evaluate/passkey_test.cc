// Texts that hide a key, and what is counted of the answers.
#include "evaluate/passkey.h"
#include "device/libtorch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "evaluate/tiny_model.h"
#include "support/error_text.h"
#include "support/small_tokenizer.h"

namespace alibi {
namespace {

using test::some_targets;
using test::tiny;
using test::whole;

PasskeyText make(const PasskeyPlace& place) {
  return passkey_text(Tokenizer::bytes(), whole(some_targets(400), 100), place);
}

std::string words(const PasskeyText& text) { return Tokenizer::bytes().decode(text.ids); }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST(Passkey, ATextHasItsLengthItsKeyAndItsAnswer) {
  for (const double depth : {0.0, 0.5, 1.0}) {
    const PasskeyText text = make({.length = 300, .depth = depth, .trial = 3});
    EXPECT_EQ(std::ssize(text.ids), 301);
    EXPECT_EQ(text.key.size(), 5U);
    EXPECT_EQ(text.answer, 6) << "a space and five digits";
    const std::string all = words(text);
    EXPECT_TRUE(all.ends_with("The pass key is " + text.key)) << all;
    EXPECT_EQ(count(all, text.key), 3U) << "stated twice, answered once";
    const std::string stated = "\nThe pass key is 12345\nRemember it: the pass key is 12345\n";
    const auto filler = static_cast<double>(all.find("\nWhat is the") - stated.size());
    EXPECT_NEAR(static_cast<double>(all.find("\nThe pass key is")), depth * filler, 1);
  }
}

TEST(Passkey, TextsDependOnTheirPlaceOnly) {
  const PasskeyPlace place{.length = 300, .depth = 0.25, .trial = 1};
  EXPECT_EQ(make(place).ids, make(place).ids);
  PasskeyPlace other = place;
  other.trial = 2;
  EXPECT_NE(make(place).key, make(other).key);
}

TEST(Passkey, AFalseKeyIsStatedAndNotAskedFor) {
  PasskeyPlace place{.length = 300, .depth = 0.5, .trial = 1};
  const PasskeyText told = make(place);
  place.false_key = true;
  const PasskeyText untold = make(place);
  EXPECT_EQ(told.key, untold.key);
  EXPECT_EQ(count(words(untold), told.key), 1U) << "in the answer alone";
  EXPECT_EQ(told.ids.size(), untold.ids.size());
}

TEST(Passkey, SeveralDocumentsEachHaveAKey) {
  for (const std::int64_t trial : {4, 5}) {
    const PasskeyText text = make({.length = 500, .depth = 0.5, .trial = trial, .documents = 2});
    const std::string all = words(text);
    EXPECT_EQ(std::ssize(text.ids), 501);
    EXPECT_EQ(count(all, "\nThe pass key of box A is"), 1U);
    EXPECT_EQ(count(all, "\nThe pass key of box B is"), 1U);
    const std::string asked = trial % 2 == 0 ? "A" : "B";
    EXPECT_TRUE(all.ends_with("The pass key of box " + asked + " is " + text.key));
    EXPECT_EQ(std::count(text.ids.begin(), text.ids.end(), Tokenizer::kEnd), 2);
  }
}

// Pieces of several characters: the digits are the same tokens wherever the key is stated.
TEST(Passkey, KeysAreTheSameTokensWithLearnedPieces) {
  const Tokenizer tokenizer = small_tokenizer();
  const TextSample filler = whole(tokenizer.encode(small_text(6'000)), 100);
  for (std::int64_t trial = 0; trial < 20; ++trial) {
    const PasskeyPlace place{.length = 200, .depth = 0.5, .trial = trial};
    const PasskeyText text = passkey_text(tokenizer, filler, place);
    ASSERT_EQ(std::ssize(text.ids), 201);
    const std::vector<std::int32_t> answer(text.ids.end() - text.answer, text.ids.end());
    int stated = 0;
    for (auto at = text.ids.begin(); at != text.ids.end(); ++at) {
      at = std::search(at, text.ids.end(), answer.begin(), answer.end());
      if (at == text.ids.end()) break;
      ++stated;
    }
    EXPECT_EQ(stated, 3) << "stated twice, answered once: " << text.key;
    EXPECT_GE(passkey_least_length(tokenizer, place), text.answer * 3);
  }
}

TEST(Passkey, ALengthTooShortForTheSentencesIsRefused) {
  EXPECT_ERROR_AT(error_text([] { make({.length = 60}); }), "evaluate.passkey", 60);
}

TEST(Passkey, AKeyIsFoundWhenEveryTokenOfItIsTheLikeliest) {
  const torch::Tensor key_A = torch::tensor({2, 0, 1}, torch::kLong);
  torch::Tensor logits_AV = torch::zeros({3, 4});
  for (int i = 0; i < 3; ++i) logits_AV[i][key_A[i].item<std::int64_t>()] = 1.0F;
  const PasskeyAnswer right = judge_answer(logits_AV, key_A);
  EXPECT_TRUE(right.found);
  EXPECT_NEAR(right.loss, std::log(std::exp(1.0) + 3) - 1, 1e-6);
  logits_AV[1][3] = 2.0F;
  const PasskeyAnswer wrong = judge_answer(logits_AV, key_A);
  EXPECT_FALSE(wrong.found) << "one token of three";
  EXPECT_GT(wrong.loss, right.loss);
}

// The gain is the loss of the answer where another key was stated, less that where it was itself.
TEST(Passkey, TheGainIsWhatStatingTheKeyIsWorth) {
  LoadedModel loaded = tiny("alibi");
  const TextSample filler = whole(some_targets(400), 100);
  PasskeyOptions options{.lengths = {256}, .rules = {}, .progress = {}};
  options.rules.passkey.trials = 3;
  options.rules.passkey.depths = {0.5};
  const PasskeyResult result = measure_passkeys(loaded, filler, options);
  const torch::NoGradGuard guard;
  const auto loss = [&](std::int64_t trial, bool false_key) {
    const PasskeyText text =
        passkey_text(Tokenizer::bytes(), filler, {256, 0.5, trial, 1, false_key});
    const std::vector<std::int64_t> ids(text.ids.begin(), text.ids.end());
    const torch::Tensor all = torch::tensor(ids).unsqueeze(0);
    const torch::Tensor logits_NV =
        loaded.model->logits(loaded.model->hidden(all.narrow(1, 0, 256)))[0];
    return judge_answer(logits_NV.narrow(0, 256 - text.answer, text.answer),
                        all[0].narrow(0, 257 - text.answer, text.answer))
        .loss;
  };
  double gain = 0;
  for (std::int64_t trial = 0; trial < 3; ++trial)
    gain += (loss(trial, true) - loss(trial, false)) / 3;
  EXPECT_NE(gain, 0);
  EXPECT_NEAR(result.cells.at(0).gain.mean, gain, 2e-5);
  // What curves do to positions is done here too.
  options.rules.stretch = Stretch::kLinear;
  EXPECT_NE(measure_passkeys(loaded, filler, options).cells.at(0).gain.mean,
            result.cells.at(0).gain.mean);
}

// Seen failing while it threw away what was measured.
TEST(Passkey, ALengthThatMemoryDoesNotTakeIsReportedAndTheOthersAreMeasured) {
  LoadedModel loaded = tiny("alibi");
  PasskeyOptions options{.lengths = {256, 512}, .rules = {}, .progress = {}};
  options.rules.passkey.trials = 4;
  options.rules.passkey.depths = {0.5};
  bool lacking = true;
  options.progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 2);
    if (done == 0 && std::exchange(lacking, false)) throw std::bad_alloc();
  };
  const PasskeyResult result = measure_passkeys(loaded, whole(some_targets(400), 100), options);
  ASSERT_EQ(result.cells.size(), 2U);
  EXPECT_EQ(result.cells[0].note, kOutOfMemory);
  EXPECT_EQ(result.cells[1].note, "");
  EXPECT_EQ(result.cells[1].trials, 4);
}

TEST(Passkey, EveryLengthAndDepthIsACell) {
  LoadedModel loaded = tiny("learned", {"model.max_sequence_length=256"});
  PasskeyOptions options{.lengths = {32, 256, 512}, .rules = {}, .progress = {}};
  options.rules.passkey.trials = 4;
  options.rules.passkey.depths = {0, 1};
  const PasskeyResult result = measure_passkeys(loaded, whole(some_targets(400), 100), options);
  ASSERT_EQ(result.cells.size(), 6U);
  EXPECT_NAMES(result.cells[0].note, "too short");
  EXPECT_NAMES(result.cells[5].note, "learned", 256);
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) {
    EXPECT_EQ(result.cells[i].note, "");
    EXPECT_EQ(result.cells[i].trials, 4);
    EXPECT_EQ(result.cells[i].found, 0) << "random weights";
    EXPECT_TRUE(std::isfinite(result.cells[i].gain.mean));
    EXPECT_LE(result.cells[i].gain.low, result.cells[i].gain.mean);
  }
}

}  // namespace
}  // namespace alibi
