// tokenizer.json of byte-level BPE: what is read, and every other kind refused by name. Seen
// failing with ids allowed twice and with vocabularies that leave most ids out let through.
#include "formats/byte_level_json.h"

#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/small_byte_level.h"

namespace alibi {
namespace {

ByteLevelModel read(const nlohmann::json& json) { return parse_byte_level_json(json.dump(), "t"); }

std::string fault(const nlohmann::json& json) {
  return error_text([&] { read(json); });
}

TEST(ByteLevelJson, ReadsPiecesAsBytesMergesInOrderAndTheEnd) {
  const ByteLevelModel model = read(small_byte_level());
  ASSERT_EQ(model.pieces.size(), 262);
  for (unsigned byte = 0; byte < 256; ++byte)
    EXPECT_EQ(model.pieces[byte], std::string(1, static_cast<char>(byte)));
  EXPECT_EQ(model.pieces[258], " the");
  EXPECT_EQ(model.pieces[261], "");
  EXPECT_EQ(model.end, 261);
  ASSERT_EQ(model.merges.size(), 5);
  EXPECT_EQ(model.merges[1].left, 256);
  EXPECT_EQ(model.merges[1].right, 'e');
  EXPECT_EQ(model.merges[1].merged, 257);
  EXPECT_EQ(model.patterns, std::vector<std::string>{kGpt2Pattern});
  EXPECT_FALSE(model.compose);
}

TEST(ByteLevelJson, ReadsTheFormsThatAreAround) {
  nlohmann::json json = small_byte_level();
  json["model"]["merges"][0] = {"t", "h"};
  json["normalizer"] = {{"type", "NFC"}};
  json["added_tokens"].push_back({{"id", 270}, {"content", "  "}, {"normalized", true}});
  json["added_tokens"].push_back({{"id", 271}, {"content", "<|stop|>"}, {"special", true}});
  json["alibi"] = {{"end", 271}};
  json["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Digits"}, {"individual_digits", true}},
        {{"type", "Split"}, {"pattern", {{"String", "a.b"}}}, {"behavior", "Isolated"}},
        {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
  const ByteLevelModel model = read(json);
  EXPECT_TRUE(model.compose);
  EXPECT_EQ(model.end, 271);
  EXPECT_EQ(model.pieces[270], "  ");
  EXPECT_EQ(model.pieces[265], "") << "an id left out";
  EXPECT_EQ(model.patterns, (std::vector<std::string>{"\\p{N}", "a\\.b"}));
}

// GPT-2's own file on the hub. Seen refused.
TEST(ByteLevelJson, AModelWithoutItsTypeIsKnownByItsMembers) {
  nlohmann::json json = small_byte_level();
  json["model"].erase("type");
  EXPECT_EQ(read(json).merges.size(), 5);
  json["model"].erase("merges");
  EXPECT_ERROR_AT(fault(json), "/model/type");
}

TEST(ByteLevelJson, ADecoderThatDoesMoreIsRefused) {
  nlohmann::json json = small_byte_level();
  const nlohmann::json bytes = {{"type", "ByteLevel"}}, strip = {{"type", "Strip"}};
  json["decoder"] = {{"type", "Sequence"}, {"decoders", {bytes}}};
  EXPECT_NO_THROW(read(json));
  json["decoder"]["decoders"].push_back(strip);
  EXPECT_ERROR_AT(fault(json), "/decoder/type", "\"Sequence\"", "ByteLevel");
}

TEST(ByteLevelJson, ReadsTheOlderPairOfFiles) {
  const nlohmann::json json = small_byte_level();
  nlohmann::json vocabulary = json["model"]["vocab"];
  vocabulary["<|endoftext|>"] = 261;
  const std::string merges = "#version: 0.2\nt h\nth e\r\n\n";
  const ByteLevelModel model =
      parse_byte_level_json(byte_level_json_of(vocabulary.dump(), merges, "v"), "v");
  EXPECT_EQ(model.merges.size(), 2);
  EXPECT_EQ(model.end, 261);
  EXPECT_EQ(model.pieces.size(), 262);
}

TEST(ByteLevelJson, MergesNeverMakeASpecialToken) {
  nlohmann::json json = small_byte_level();
  json["added_tokens"].push_back({{"id", 257}, {"content", "the"}, {"special", true}});
  const ByteLevelModel model = read(json);
  EXPECT_EQ(model.pieces[257], "");
  ASSERT_EQ(model.merges.size(), 3) << "without those of \"the\" and \" the\"";
  for (const ByteMerge& merge : model.merges) EXPECT_NE(merge.merged, 257);
}

TEST(ByteLevelJson, RefusesEverythingElseByName) {
  const nlohmann::json good = small_byte_level();
  const auto with = [&](const std::string& pointer, const nlohmann::json& value) {
    nlohmann::json json = good;
    json[nlohmann::json::json_pointer(pointer)] = value;
    return fault(json);
  };
  EXPECT_ERROR_AT(with("/model/type", "Unigram"), "/model/type", "\"Unigram\"");
  EXPECT_ERROR_AT(with("/model/byte_fallback", true), "/model/byte_fallback", "tokenizer.model");
  EXPECT_ERROR_AT(with("/model/dropout", 0.1), "/model/dropout");
  EXPECT_ERROR_AT(with("/model/end_of_word_suffix", "</w>"), "/model/end_of_word_suffix",
                  "\"</w>\"");
  EXPECT_ERROR_AT(with("/model/vocab/t", 5), "/model/vocab", 5);
  EXPECT_ERROR_AT(with("/model/vocab/t", -1), "/model/vocab/t", -1);
  EXPECT_ERROR_AT(with("/model/vocab/t", 3'999'999), "/model/vocab", 261, 4000000);
  EXPECT_ERROR_AT(with("/model/vocab/\xe4\xb8\xad", 262), "/model/vocab/\xe4\xb8\xad");
  EXPECT_ERROR_AT(with("/model/merges/0", "t"), "/model/merges/0", "\"t\"");
  EXPECT_ERROR_AT(with("/model/merges/0", "t q"), "/model/merges/0", "\"t\"", "\"q\"");
  EXPECT_ERROR_AT(with("/pre_tokenizer/add_prefix_space", true), "/pre_tokenizer/add_prefix_space");
  EXPECT_ERROR_AT(with("/pre_tokenizer", {{"type", "Whitespace"}}), "/pre_tokenizer/type",
                  "\"Whitespace\"");
  EXPECT_ERROR_AT(with("/normalizer", {{"type", "Lowercase"}}), "/normalizer/type", "\"Lowercase\"",
                  "NFC");
  EXPECT_ERROR_AT(with("/added_tokens/0/special", false), "/added_tokens", "<|endoftext|>");
  EXPECT_ERROR_AT(with("/added_tokens/0/content", "<|other|>"), "/added_tokens", "<|endoftext|>");
  EXPECT_ERROR_AT(with("/alibi", {{"end", 7}}), "/alibi/end", 7);
  nlohmann::json lacking = good;
  lacking["model"]["vocab"].erase("q");
  EXPECT_ERROR_AT(fault(lacking), "/model/vocab", 113);
  EXPECT_ERROR_AT(error_text([] { parse_byte_level_json("[]", "t"); }), "t");
}

}  // namespace
}  // namespace alibi
