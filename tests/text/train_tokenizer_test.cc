#include "text/train_tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "formats/tokenizer_model.h"
#include "support/error_text.h"
#include "support/small_tokenizer.h"

namespace alibi {
namespace {

std::string train(const std::string& text, std::int64_t vocabulary, std::int64_t sample = 1 << 20) {
  return train_tokenizer(text_source(text),
                         {.vocabulary = vocabulary, .sample_bytes = sample, .progress = {}},
                         "place");
}

TEST(TrainTokenizer, MakesTheModelThatExportsExpect) {
  const TokenizerModel model = parse_tokenizer_model(small_model(), "m");
  ASSERT_EQ(model.pieces.size(), 600u);
  EXPECT_EQ(model.kind, PieceModel::kBpe);
  EXPECT_TRUE(model.byte_fallback);
  EXPECT_FALSE(model.add_dummy_prefix || model.remove_extra_whitespaces ||
               model.changes_characters);
  EXPECT_EQ(model.pieces[0].text, "<unk>");
  EXPECT_EQ(model.pieces[1].text, "<s>");
  EXPECT_EQ(model.pieces[2].text, "</s>");
  EXPECT_EQ(model.pieces[3].text, "\n");
  EXPECT_EQ(model.pieces[3].type, PieceType::kUserDefined);
  EXPECT_EQ(std::ranges::count(model.pieces, PieceType::kByte, &TokenizerPiece::type), 256);
  const auto indent = std::ranges::count(
      model.pieces, "\xe2\x96\x81\xe2\x96\x81\xe2\x96\x81\xe2\x96\x81", &TokenizerPiece::text);
  EXPECT_EQ(indent, 1);
}

TEST(TrainTokenizer, IsAFunctionOfTheText) {
  const std::string text = small_text(120'000, 5);
  const std::string first = train(text, 500, 60'000);
  // Another state of the heap: sentencepiece compares pointers in places.
  std::vector<std::unique_ptr<std::string>> clutter;
  for (std::size_t i = 0; i < 20'000; ++i)
    clutter.push_back(std::make_unique<std::string>(i % 300, 'x'));
  for (std::size_t i = 0; i < clutter.size(); i += 2) clutter[i].reset();
  EXPECT_EQ(train(text, 500, 60'000), first);
}

TEST(TrainTokenizer, TheSampleIsSpreadOverTheText) {
  // Four quarters in four alphabets; a tenth of the text still knows the letters of all.
  std::string text;
  const std::string alphabets[] = {"ab", "cd", "ef", "gh"};
  for (const std::string& letters : alphabets) {
    for (int i = 0; i < 20'000; ++i)
      text += letters[static_cast<std::size_t>(i * 7 / 5 % 2)] + std::string(i % 9 ? "" : "\n");
  }
  const Tokenizer tokenizer = Tokenizer::from_model(train(text, 280, 10'000), "m");
  for (const std::string& letters : alphabets) {
    for (const std::int32_t id : tokenizer.encode(letters))
      EXPECT_FALSE(tokenizer.is_byte_fallback(id)) << letters;
  }
}

TEST(TrainTokenizer, VocabulariesThatDoNotFitAreNamed) {
  const std::string text = small_text(3000);
  EXPECT_ERROR_AT(error_text([&] { train(text, 100); }), "place", 100, "tokenizer.vocabulary", 260);
  EXPECT_ERROR_AT(error_text([&] { train(text, 265); }), "place", 265);
  EXPECT_ERROR_AT(error_text([&] { train(text, 50'000); }), "place", 50'000);
  EXPECT_ERROR_AT(error_text([&] { train("a", 4096); }), "place", 4096, 262);
}

TEST(TrainTokenizer, TheNamedLimitsHold) {
  const std::string text = small_text(3000);
  const auto limit = [&](std::int64_t vocabulary) {
    const std::string way_out = way_out_of(error_text([&] { train(text, vocabulary); }));
    return std::stoll(way_out.substr(way_out.find_first_of("0123456789")));
  };
  EXPECT_NO_THROW(train(text, limit(50'000)));
  EXPECT_NO_THROW(train(text, limit(265)));
}

TEST(TrainTokenizer, StrangeTextIsLearntFromOrRefused) {
  const std::string texts[] = {
      std::string(1'000'000, 'x'),  // one word: sentencepiece alone would abort
      std::string(300'000, ' '),
      std::string(100'000, '\n'),
      std::string(100'000, '\0'),
      "\xe2\x96\x85",
      "\xe2\x96\x81\xe2\x96\x81",
      "\n",
      "\t\t\t\t",
      "<s></s><unk><0x41>",
      small_text(2000) + "\xe2\x96\x85" + std::string(5000, '\t') + "\r\n"};
  for (const std::string& text : texts) {
    testing::internal::CaptureStderr();
    try {
      const Tokenizer tokenizer = Tokenizer::from_model(train(text, 262), "m");
      tokenizer.encode(text);
    } catch (const Error& error) {
      EXPECT_ERROR_AT(std::string(error.what()), "place");
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  }
}

// Seen failing with the space not asked for: three bytes, which come back as U+2581.
TEST(TrainTokenizer, ASpaceHasAPieceHoweverRareItIs) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += "\xe4\xb8";
    text += static_cast<char>(0x80 + i * i % 61);
    if (i % 50 == 49) text += '\n';
  }
  for (const std::string& sample : {text, text + "a b", std::string("\xe4\xb8\xad")}) {
    const std::int64_t vocabulary = sample.size() < 10 ? 262 : 330;
    const Tokenizer tokenizer = Tokenizer::from_model(train(sample, vocabulary), "m");
    const std::vector<std::int32_t> ids = tokenizer.encode(" ");
    ASSERT_EQ(ids.size(), 1u);
    EXPECT_EQ(tokenizer.surface(ids[0]), " ");
    EXPECT_EQ(tokenizer.decode(tokenizer.encode("\xe4\xb8\xad  \xe4\xb8\xad")),
              "\xe4\xb8\xad  \xe4\xb8\xad");
  }
}

TEST(TrainTokenizer, SaysWhatItDoes) {
  std::vector<std::string> lines;
  train_tokenizer(text_source(small_text(20'000)),
                  {.vocabulary = 300,
                   .sample_bytes = 10'000,
                   .progress = [&](const std::string& line) { lines.push_back(line); }},
                  "p");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NAMES(lines[0], 300);
}

}  // namespace
}  // namespace alibi
