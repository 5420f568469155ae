#include "convert/sentencepiece_json.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/strings.h"
#include "convert/tokenizer_json.h"
#include "formats/tokenizer_model.h"
#include "text/tokenizer.h"

namespace alibi {
namespace {

using Json = nlohmann::json;  // not in order: that one looks for a key by walking all of them

constexpr std::size_t kMostPieces = 1 << 24;

constexpr int kDeepest = 64;  // what is compared and written again goes as deep as the file

struct TooDeep {};

// Discarded where it is none, or too deep.
Json parsed(const std::string& text) {
  const auto bounded = [](int depth, Json::parse_event_t event, const Json&) {
    using Event = Json::parse_event_t;
    const bool opens = event == Event::array_start || event == Event::object_start;
    if (opens && depth >= kDeepest) throw TooDeep();
    return true;
  };
  try {
    return Json::parse(text, bounded, false);
  } catch (const TooDeep&) {
    return Json(Json::value_t::discarded);
  }
}

// transformers writes such a one where there was none.
bool adds_nothing(const Json& post_processor) {
  if (post_processor.is_null()) return true;
  return post_processor.value("type", "") == "TemplateProcessing" &&
         post_processor.value("special_tokens", Json()).empty();
}

Json without_what_adds_nothing(Json file) {
  for (const char* part : {"truncation", "padding"}) file.erase(part);
  if (file.contains("post_processor") && adds_nothing(file["post_processor"]))
    file.erase("post_processor");
  Json& model = file["model"];
  if (model.value("type", "") != "Unigram") return file;
  for (Json& piece : model["vocab"]) piece[1] = piece[1].get<float>();  // as sentencepiece has them
  return file;
}

struct Merge {
  std::string left, right;
};

Merge merge_of(const Json& merge) {
  if (merge.is_array()) return {merge.at(0), merge.at(1)};
  const auto words = merge.get<std::string>();
  const std::size_t space = words.find(' ');
  return {words.substr(0, space), words.substr(std::min(space, words.size() - 1) + 1)};
}

// Pieces in the order of their ids; scores fall in the order in which merges make pieces.
void read_bpe(const Json& model, TokenizerModel& read) {
  const Json& vocabulary = model.at("vocab");
  read.kind = PieceModel::kBpe;
  read.pieces.resize(vocabulary.size());
  std::unordered_map<std::string, std::size_t> ids;
  for (const auto& [text, id] : vocabulary.items()) {
    read.pieces.at(id.get<std::size_t>()).text = text;
    ids.emplace(text, id.get<std::size_t>());
  }
  float next = 0;
  std::vector<bool> made(read.pieces.size());
  for (const Json& one : model.at("merges")) {
    const Merge merge = merge_of(one);
    const std::size_t id = ids.at(merge.left + merge.right);
    if (made.at(id)) continue;
    made[id] = true;
    read.pieces[id].score = next--;
  }
  for (std::size_t id = 0; id < made.size(); ++id)
    if (!made[id]) read.pieces[id].score = next;
}

void read_unigram(const Json& model, TokenizerModel& read) {
  read.kind = PieceModel::kUnigram;
  for (const Json& piece : model.at("vocab"))
    read.pieces.push_back({piece.at(0), piece.at(1).get<float>(), PieceType::kNormal});
}

bool is_byte(const std::string& text) {
  return text.size() == 6 && text.starts_with("<0x") && text.ends_with('>');
}

TokenizerModel read_pieces(const Json& file) {
  const Json& model = file.at("model");
  TokenizerModel read;
  read.normalizer = "identity";
  read.byte_fallback = model.at("byte_fallback");
  read.remove_extra_whitespaces = false;
  const std::string steps = file.at("normalizer").dump();
  read.add_dummy_prefix = steps.find("\"Prepend\"") != std::string::npos;
  read.escape_whitespaces = steps.find("\"Replace\"") != std::string::npos;
  model.at("type") == "BPE" ? read_bpe(model, read) : read_unigram(model, read);
  for (TokenizerPiece& piece : read.pieces)
    if (read.byte_fallback && is_byte(piece.text)) piece.type = PieceType::kByte;
  for (const Json& token : file.at("added_tokens")) {
    const auto id = token.at("id").get<std::size_t>();
    const bool special = token.at("special");
    read.pieces.at(id).type = !special  ? PieceType::kUserDefined
                              : id == 0 ? PieceType::kUnknown
                                        : PieceType::kControl;
  }
  return read;
}

bool is_of_this_kind(const Json& file) {
  if (!file.is_object() || !file.contains("model") || !file["model"].is_object()) return false;
  const Json& model = file["model"];
  const Json type = model.value("type", Json());
  // A byte-level BPE has a pre-tokenizer that writes bytes as characters.
  const bool characters = model.value("byte_fallback", Json()) == true ||
                          (file.contains("pre_tokenizer") && file["pre_tokenizer"].is_null());
  return type == "Unigram" || ((type == "BPE" || type.is_null()) && characters);
}

}  // namespace

bool same_tokenizer_json(const std::string& one, const std::string& other) {
  const Json first = parsed(one), second = parsed(other);
  if (!first.is_object() || !second.is_object()) return false;
  try {
    return without_what_adds_nothing(first) == without_what_adds_nothing(second);
  } catch (const Json::exception&) {
    return false;
  }
}

std::optional<std::string> sentencepiece_of_json(const std::string& file,
                                                 const std::string& place) {
  const Json read = parsed(file);
  if (!is_of_this_kind(read)) return std::nullopt;
  const char* const way_out = "put the tokenizer.model that it was made of beside it";
  try {
    if (read["model"].at("vocab").size() > kMostPieces)
      throw Error(place, cat("has more than ", kMostPieces, " pieces"));
    const std::string model = write_tokenizer_model(read_pieces(read));
    if (same_tokenizer_json(tokenizer_json(Tokenizer::from_model(model, place)), file))
      return model;
  } catch (const std::out_of_range&) {
    throw Error(place, "names an id or a piece that its vocabulary lacks", way_out);
  } catch (const Json::exception&) {
    throw Error(place, "lacks what a tokenizer.json of sentencepiece's kind has", way_out);
  }
  throw Error(place, "reads texts in other ways than a sentencepiece model does", way_out);
}

}  // namespace alibi
