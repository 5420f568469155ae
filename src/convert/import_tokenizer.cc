#include "convert/import_tokenizer.h"

#include "base/error.h"
#include "base/files.h"
#include "base/json/parse.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "convert/sentencepiece_json.h"
#include "convert/tokenizer_json.h"
#include "formats/byte_level_json.h"

namespace alibi {
namespace {

constexpr std::int64_t kMostUnused = 100'000;  // rows that embeddings are padded with

Json special_token(std::int64_t id, const std::string& text) {
  return {{"id", id},        {"content", text},     {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

// A token of the vocabulary alone may come out of any text: it cannot be what ends one.
void make_special(Json& added, std::int64_t id, const std::string& place) {
  for (Json& token : *added.as_list()) {
    if (!(token["id"] == Json(id))) continue;
    token["special"] = true;
    return;
  }
  throw Error(place,
              cat("has no token ", id, " among its added_tokens, but config.json names it as ",
                  "eos_token_id"),
              "the two files do not belong together");
}

// `ids`: as many as the checked reader found, which also saw to the members and their nesting.
std::string with_end_and_rows(const ForeignModel& foreign, std::int64_t ids,
                              const std::string& place) {
  Json file = parse_json(foreign.tokenizer_model, place, kTokenizerJsonLimits);
  if (foreign.end) file["alibi"] = {{"end", *foreign.end}};
  Json& added = file["added_tokens"];
  if (added.is_null()) added = Json::list();
  if (foreign.end) make_special(added, *foreign.end, place);
  if (ids > foreign.vocabulary)
    throw Error(place,
                cat("has ", ids, " ids, but the model's embedding ", foreign.vocabulary, " rows"),
                "the two do not belong together");
  if (foreign.vocabulary - ids > kMostUnused)
    throw Error(place,
                cat("has ", ids, " ids, the model's embedding ", foreign.vocabulary, " rows"),
                "the two do not belong together");
  for (std::int64_t id = ids; id < foreign.vocabulary; ++id)
    added.push_back(special_token(id, cat("<|unused ", id, "|>")));
  return write_json(file, {.sorted = true});
}

// Who has both files reads either: they must say the same.
void check_both_agree(const Tokenizer& tokenizer, const std::filesystem::path& folder) {
  const std::filesystem::path other = folder / "tokenizer.json";
  std::error_code ignored;
  if (!std::filesystem::exists(other, ignored)) return;
  if (!same_tokenizer_json(read_file(other, kLargestTokenizer), tokenizer_json(tokenizer)))
    throw Error(other.string(), "is not what tokenizer.model beside it comes to",
                "remove the one of the two that the model was not trained with");
}

}  // namespace

Tokenizer import_tokenizer(const ForeignModel& foreign, const std::filesystem::path& folder) {
  const std::string& model = foreign.tokenizer_model;
  if (model.empty()) {
    throw Error(folder.string(),
                "holds no tokenizer.json, tokenizer.model or vocab.json and merges.txt",
                "in Python: AutoTokenizer.from_pretrained(NAME).save_pretrained(FOLDER)");
  }
  // An export of ours, be it saved again by transformers.
  const bool of_bytes = same_tokenizer_json(model, tokenizer_json(Tokenizer::bytes()));
  if (of_bytes && foreign.vocabulary == Tokenizer::kByteVocabulary &&
      foreign.end.value_or(Tokenizer::kEnd) == Tokenizer::kEnd)
    return Tokenizer::bytes();
  const std::string place = (folder / foreign.tokenizer_file).string();
  const bool is_json = foreign.tokenizer_file != "tokenizer.model";
  const auto pieces = is_json ? sentencepiece_of_json(model, place) : std::nullopt;
  if (is_json && !pieces) {
    const ByteLevelModel read = parse_byte_level_json(model, place, !foreign.end);
    return Tokenizer::from_model(with_end_and_rows(foreign, std::ssize(read.pieces), place), place);
  }
  Tokenizer tokenizer = Tokenizer::from_model(pieces.value_or(model), place);
  if (foreign.end && *foreign.end != tokenizer.end())
    throw Error(place,
                cat("ends documents with token ", tokenizer.end(), ", but config.json names ",
                    *foreign.end, " as eos_token_id"),
                "the two files do not belong together");
  if (tokenizer.vocabulary() != foreign.vocabulary)
    throw Error(place, cat("has ", tokenizer.vocabulary(), " ids, but the model's embedding ",
                           foreign.vocabulary, " rows"));
  if (foreign.tokenizer_file == "tokenizer.model") check_both_agree(tokenizer, folder);
  return tokenizer;
}

}  // namespace alibi
