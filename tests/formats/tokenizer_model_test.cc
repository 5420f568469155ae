// What is a sentencepiece model and what is none. Seen failing with pieces that are not UTF-8 and
// scores that are not finite let through, and with a field cut to what is left.
#include "formats/tokenizer_model.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_text.h"

namespace alibi {
namespace {

std::string field(int number, const std::string& bytes) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) +
         bytes;
}
std::string number(int field, int value) {
  std::string text;
  const int key = field << 3;
  if (key >= 128) {
    text += static_cast<char>((key & 0x7f) | 0x80);
    text += static_cast<char>(key >> 7);
  } else {
    text += static_cast<char>(key);
  }
  return text + static_cast<char>(value);
}
std::string piece(const std::string& text, int type) {
  return field(1, field(1, text) + number(3, type));
}

TEST(TokenizerModel, ReadsPiecesAndSettings) {
  const std::string model =
      piece("<unk>", 2) + piece("\xe2\x96\x81to", 1) + field(2, number(3, 2) + number(35, 1)) +
      field(3, field(1, "identity") + number(3, 0) + number(4, 0)) + field(9, "later");
  const TokenizerModel read = parse_tokenizer_model(model, "m");
  ASSERT_EQ(read.pieces.size(), 2u);
  EXPECT_EQ(read.pieces[0].type, PieceType::kUnknown);
  EXPECT_EQ(read.pieces[1].text, "\xe2\x96\x81to");
  EXPECT_EQ(read.kind, PieceModel::kBpe);
  EXPECT_TRUE(read.byte_fallback);
  EXPECT_FALSE(read.add_dummy_prefix);
  EXPECT_FALSE(read.remove_extra_whitespaces);
  EXPECT_TRUE(read.escape_whitespaces);
  EXPECT_FALSE(read.changes_characters);
  EXPECT_EQ(read.normalizer, "identity");
}

TEST(TokenizerModel, ATableOfReplacementsIsSeen) {
  EXPECT_TRUE(
      parse_tokenizer_model(piece("a", 1) + field(3, field(2, "x")), "m").changes_characters);
  EXPECT_TRUE(
      parse_tokenizer_model(piece("a", 1) + field(5, field(2, "x")), "m").changes_characters);
}

TEST(TokenizerModel, RefusesWhatIsNoModel) {
  const std::string infinite(
      "\x0a\x08\x0a\x01"
      "a\x15\x00\x00\x80\x7f",
      10);
  const std::string cases[] = {"",
                               "hello, this is text",
                               std::string(64, '\0'),
                               std::string(64, '\xff'),
                               piece("", 1),
                               piece("\xff", 1),
                               piece("a", 9),
                               infinite,
                               field(3, "x"),
                               "\x0a\x7f",
                               number(1, 3),
                               field(2, number(3, 7)) + piece("a", 1),
                               piece("a", 1) + "\x22\x05x"};
  for (const std::string& bytes : cases) {
    EXPECT_ERROR_AT(error_text([&] { parse_tokenizer_model(bytes, "a/b.model"); }), "a/b.model");
  }
}

TEST(TokenizerModel, EveryTruncationIsReadOrRefused) {
  const std::string model =
      piece("<unk>", 2) + piece("abc", 1) + field(2, number(3, 2)) + field(3, number(3, 0));
  for (std::size_t size = 0; size < model.size(); ++size) {
    try {
      parse_tokenizer_model(model.substr(0, size), "m");
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace alibi
