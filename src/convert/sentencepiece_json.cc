#include "convert/sentencepiece_json.h"

#include <unordered_map>

#include "base/error.h"
#include "base/json/parse.h"
#include "base/json/reader.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "convert/tokenizer_json.h"
#include "formats/tokenizer_model.h"
#include "text/sentencepiece_model.h"
#include "text/tokenizer.h"

namespace alibi {
namespace {

constexpr std::size_t kMostPieces = 1 << 24;
constexpr JsonOptions kLimits{.depth = 64, .values = 8'000'000};

// transformers writes such a one where there was none.
bool adds_nothing(const Json& post_processor) {
  if (post_processor.is_null()) return true;
  const Json* type = post_processor.find("type");
  const Json* tokens = post_processor.find("special_tokens");
  return type != nullptr && *type == "TemplateProcessing" && (tokens == nullptr || tokens->empty());
}

Json without_what_adds_nothing(Json file) {
  for (const char* part : {"truncation", "padding"}) file.erase(part);
  const Json* post_processor = file.find("post_processor");
  if (post_processor != nullptr && adds_nothing(*post_processor)) file.erase("post_processor");
  Json* model = file.find("model");
  const Json* type = model == nullptr ? nullptr : model->find("type");
  if (type == nullptr || !(*type == "Unigram")) return file;
  Json* vocabulary = model->find("vocab");
  if (vocabulary == nullptr || !vocabulary->is_list()) return file;
  for (Json& piece : *vocabulary->as_list()) {  // scores as sentencepiece has them
    JsonList* pair = piece.as_list();
    if (pair != nullptr && pair->size() == 2 && pair->back().is_number())
      pair->back() = static_cast<float>(*pair->back().as_number());
  }
  return file;
}

std::size_t id_of(const JsonReader& json, std::size_t pieces) {
  const auto id = static_cast<std::size_t>(json.count());
  if (id >= pieces) json.expected(cat("an id below ", pieces));
  return id;
}

// What a merge, "left right" or a pair, makes of two pieces.
std::string merged(const JsonReader& merge) {
  if (const std::string* words = merge.json().as_string()) {
    const std::size_t space = words->find(' ');
    if (space == std::string::npos) merge.expected("two pieces with a space between them");
    return words->substr(0, space) + words->substr(space + 1);
  }
  const std::vector<JsonReader> pair = merge.items();
  if (pair.size() != 2) merge.fail(cat("found ", pair.size(), " pieces, expected two"));
  return pair[0].text() + pair[1].text();
}

// Pieces in the order of their ids; scores fall in the order in which merges make pieces.
void read_bpe(const JsonReader& model, TokenizerModel& read) {
  const auto vocabulary = model.at("vocab").members();
  read.kind = PieceModel::kBpe;
  read.pieces.resize(vocabulary.size());
  std::unordered_map<std::string, std::size_t> ids;
  for (const auto& [text, value] : vocabulary) {
    const std::size_t id = id_of(value, read.pieces.size());
    read.pieces[id].text = text;
    ids.emplace(text, id);
  }
  float next = 0;
  std::vector<bool> made(read.pieces.size());
  for (const JsonReader& merge : model.at("merges").items()) {
    const auto found = ids.find(merged(merge));
    if (found == ids.end()) merge.fail("makes a piece that the vocabulary lacks");
    if (made[found->second]) continue;
    made[found->second] = true;
    read.pieces[found->second].score = next--;
  }
  for (std::size_t id = 0; id < made.size(); ++id)
    if (!made[id]) read.pieces[id].score = next;
}

void read_unigram(const JsonReader& model, TokenizerModel& read) {
  read.kind = PieceModel::kUnigram;
  for (const JsonReader& piece : model.at("vocab").items()) {
    const std::vector<JsonReader> pair = piece.items();
    if (pair.size() != 2) piece.fail("is no piece with its score");
    read.pieces.push_back(
        {pair[0].text(), static_cast<float>(pair[1].number()), PieceType::kNormal});
  }
}

TokenizerModel read_pieces(const JsonReader& file) {
  const JsonReader model = file.at("model");
  TokenizerModel read;
  read.normalizer = "identity";
  read.byte_fallback = model.at("byte_fallback").flag();
  read.remove_extra_whitespaces = false;
  const std::string steps = write_json(file.at("normalizer").json());
  read.add_dummy_prefix = steps.find("\"Prepend\"") != std::string::npos;
  read.escape_whitespaces = steps.find("\"Replace\"") != std::string::npos;
  model.at("type").text() == "BPE" ? read_bpe(model, read) : read_unigram(model, read);
  for (TokenizerPiece& piece : read.pieces)
    if (read.byte_fallback && is_byte_piece(piece.text)) piece.type = PieceType::kByte;
  for (const JsonReader& token : file.at("added_tokens").items()) {
    const std::size_t id = id_of(token.at("id"), read.pieces.size());
    read.pieces[id].type = !token.at("special").flag() ? PieceType::kUserDefined
                           : id == 0                   ? PieceType::kUnknown
                                                       : PieceType::kControl;
  }
  return read;
}

bool is_of_this_kind(const Json& file) {
  const Json* model = file.find("model");
  if (model == nullptr || !model->is_object()) return false;
  const Json* type = model->find("type");
  const Json* byte_fallback = model->find("byte_fallback");
  const Json* pre_tokenizer = file.find("pre_tokenizer");
  // A byte-level BPE has a pre-tokenizer that writes bytes as characters.
  const bool characters = (byte_fallback != nullptr && *byte_fallback == true) ||
                          (pre_tokenizer != nullptr && pre_tokenizer->is_null());
  if (type == nullptr || type->is_null()) return characters;
  return *type == "Unigram" || (*type == "BPE" && characters);
}

std::optional<Json> parsed(const std::string& text) {
  std::vector<JsonFault> ignored;
  return parse_json(text, kLimits, ignored);
}

}  // namespace

bool same_tokenizer_json(const std::string& one, const std::string& other) {
  const std::optional<Json> first = parsed(one), second = parsed(other);
  return first && second && without_what_adds_nothing(*first) == without_what_adds_nothing(*second);
}

std::optional<std::string> sentencepiece_of_json(const std::string& file,
                                                 const std::string& place) {
  const std::optional<Json> json = parsed(file);
  if (!json || !is_of_this_kind(*json)) return std::nullopt;
  const JsonReader read(*json, place);
  if (read.at("model").at("vocab").json().size() > kMostPieces)
    throw Error(place, cat("has more than ", kMostPieces, " pieces"));
  const std::string model = write_tokenizer_model(read_pieces(read));
  if (same_tokenizer_json(tokenizer_json(Tokenizer::from_model(model, place)), file)) return model;
  throw Error(place, "reads texts in other ways than a sentencepiece model does",
              "put the tokenizer.model that it was made of beside it");
}

}  // namespace alibi
