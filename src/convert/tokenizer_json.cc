#include "convert/tokenizer_json.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/json/parse.h"
#include "base/json/write.h"
#include "base/printable.h"
#include "base/strings.h"
#include "convert/pieces.h"
#include "formats/byte_level_json.h"
#include "text/sentencepiece_model.h"

namespace alibi {
namespace {

struct Merge {
  float score;
  std::size_t left, right;
};

// Every way to make a normal piece of two others, best first. sentencepiece merges the pair whose
// result scores highest; the order here says the same.
std::vector<Merge> ordered_merges(const TokenizerModel& model) {
  std::unordered_map<std::string_view, std::size_t> normal;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    if (model.pieces[id].type == PieceType::kNormal) normal.emplace(model.pieces[id].text, id);
  }
  std::vector<Merge> merges;
  for (const auto& [text, id] : normal) {
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      if (inside_character(text[cut])) continue;
      const auto left = normal.find(text.substr(0, cut)), right = normal.find(text.substr(cut));
      if (left != normal.end() && right != normal.end())
        merges.push_back({model.pieces[id].score, left->second, right->second});
    }
  }
  std::sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    return std::tuple(-a.score, a.left, a.right) < std::tuple(-b.score, b.left, b.right);
  });
  return merges;
}

Json merges_of(const TokenizerModel& model) {
  Json all = Json::list();
  for (const Merge& merge : ordered_merges(model))
    all.push_back(Json::list({model.pieces[merge.left].text, model.pieces[merge.right].text}));
  return all;
}

Json bpe(const TokenizerModel& model) {
  Json vocabulary = Json::object();
  for (std::size_t id = 0; id < model.pieces.size(); ++id)
    vocabulary.append(model.pieces[id].text, id);
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", model.pieces[0].text},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", true},
          {"byte_fallback", model.byte_fallback},
          {"ignore_merges", false},
          {"vocab", std::move(vocabulary)},
          {"merges", merges_of(model)}};
}

// sentencepiece looks for normal and user-defined pieces in a text, tokenizers for every entry: the
// pre-tokenizer keeps the others' texts apart. Their scores lower none of the unknown's.
Json unigram(const TokenizerModel& model) {
  Json vocabulary = Json::list();
  for (const TokenizerPiece& piece : model.pieces) {
    const bool seen = piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined;
    vocabulary.push_back(Json::list({piece.text, seen ? piece.score : 0.0F}));
  }
  return {{"type", "Unigram"},
          {"unk_id", 0},
          {"vocab", std::move(vocabulary)},
          {"byte_fallback", model.byte_fallback}};
}

std::size_t character_bytes(std::string_view text) {
  std::size_t bytes = 1;
  while (bytes < text.size() && inside_character(text[bytes])) ++bytes;
  return bytes;
}

// Whether a cut behind the first character of `special` leaves the pieces of any text as they were:
// no piece may lie across it, nor a run of unknown characters, which is one token.
bool cut_changes_nothing(const TokenizerModel& model, std::string_view special) {
  const std::size_t first = character_bytes(special);
  if (first == special.size()) return false;
  const std::string_view second = special.substr(first, character_bytes(special.substr(first)));
  const std::string_view both = special.substr(0, first + second.size());
  bool known = model.byte_fallback;
  for (const TokenizerPiece& piece : model.pieces) {
    if (piece.type != PieceType::kNormal) continue;
    if (piece.text.find(both) != std::string::npos) return false;
    known = known || piece.text == special.substr(0, first) || piece.text == second;
  }
  return known;
}

// Cuts the text of every special or byte piece behind its first character, so that tokenizers'
// Unigram model never finds it whole.
Json cuts(const TokenizerModel& model) {
  std::string pattern;
  for (const TokenizerPiece& piece : model.pieces) {
    if (piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined) continue;
    if (!cut_changes_nothing(model, piece.text)) {
      throw Error("tokenizer.model",
                  cat("is a unigram model whose piece ", shown(piece.text),
                      " Hugging Face's tokenizers would find in texts that spell it out"),
                  "train a bpe model, or this one with byte_fallback and without pieces that cross "
                  "the first two characters of that name");
    }
    const std::size_t first = character_bytes(piece.text);
    pattern += cat(pattern.empty() ? "" : "|", literal_pattern(piece.text.substr(0, first)),
                   "(?=", literal_pattern(piece.text.substr(first)), ")");
  }
  return {{"type", "Split"},
          {"pattern", {{"Regex", pattern}}},
          {"behavior", "MergedWithPrevious"},
          {"invert", false}};
}

Json added_tokens(const TokenizerModel& model) {
  Json added = Json::list();
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const TokenizerPiece& piece = model.pieces[id];
    const bool special = piece.type == PieceType::kUnknown || piece.type == PieceType::kControl;
    if (!special && piece.type != PieceType::kUserDefined) continue;
    added.push_back({{"id", id},
                     {"content", piece.text},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", special}});
  }
  return added;
}

Json normalizer(const TokenizerModel& model) {
  Json steps = Json::list();
  if (model.add_dummy_prefix) steps.push_back({{"type", "Prepend"}, {"prepend", kSpace}});
  if (model.escape_whitespaces)
    steps.push_back({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpace}});
  if (steps.empty()) return nullptr;
  return {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
}

Json decoder(const TokenizerModel& model) {
  Json steps = Json::list();
  if (model.escape_whitespaces)
    steps.push_back({{"type", "Replace"}, {"pattern", {{"String", kSpace}}}, {"content", " "}});
  if (model.byte_fallback) steps.push_back({{"type", "ByteFallback"}});
  steps.push_back({{"type", "Fuse"}});
  if (model.add_dummy_prefix)
    steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return {{"type", "Sequence"}, {"decoders", std::move(steps)}};
}

// Theirs, but for the member that is ours, and for what it would do to text and ids that training
// does not: cut or fill them, put tokens around them, read them otherwise than byte by byte.
std::string byte_level_json(const Tokenizer& tokenizer) {
  Json file = parse_json(tokenizer.model(), "tokenizer.json", kTokenizerJsonLimits);
  file.erase("alibi");
  for (const char* part : {"truncation", "padding", "post_processor"}) file[part] = nullptr;
  file["model"]["type"] = "BPE";  // which the first files do not say
  if (JsonList* added = file["added_tokens"].as_list()) {
    // tokenizers' own reader insists on every member.
    for (Json& token : *added)
      for (const char* member : {"single_word", "lstrip", "rstrip", "normalized", "special"})
        if (token.find(member) == nullptr) token[member] = false;
  }
  const Json* decoder = file["decoder"].find("type");
  if (decoder == nullptr || !(*decoder == "ByteLevel"))
    file["decoder"] = {{"type", "ByteLevel"},
                       {"add_prefix_space", false},
                       {"trim_offsets", false},
                       {"use_regex", false}};
  return write_json(file, {.indent = 1, .sorted = true}) + "\n";
}

struct SpecialNames {
  std::string end;
  Json unknown;  // null: every text has tokens
};

SpecialNames special_names(const Tokenizer& tokenizer) {
  if (tokenizer.is_byte_level()) {
    const ByteLevelModel model = parse_byte_level_json(tokenizer.model(), "tokenizer.json");
    for (const AddedToken& token : model.added)
      if (token.id == model.end) return {token.text, nullptr};
    ensure(false, "the end is one of the added tokens");
  }
  const TokenizerModel model = tokenizer_pieces(tokenizer);
  return {model.pieces[Tokenizer::kEnd].text, model.pieces[Tokenizer::kUnknown].text};
}

// sentencepiece merges the leftmost of equal pairs, tokenizers the one that is first in its list.
void refuse_equal_scores(const TokenizerModel& model) {
  const std::vector<Merge> merges = ordered_merges(model);
  const auto result = [&](const Merge& merge) {
    return model.pieces[merge.left].text + model.pieces[merge.right].text;
  };
  for (std::size_t next = 1; next < merges.size(); ++next) {
    const Merge &one = merges[next - 1], &other = merges[next];
    if (one.score != other.score || result(one) == result(other)) continue;
    throw Error("tokenizer.model",
                cat("has the pieces ", shown(result(one)), " and ", shown(result(other)),
                    " of one score: sentencepiece merges the leftmost of them, Hugging Face's "
                    "tokenizers always the same one first"),
                "give each piece a score of its own");
  }
}

// A user-defined piece that begins within a special's text, which tokenizers skips as a whole.
void refuse_pieces_of_specials(const TokenizerModel& model) {
  const std::vector<std::string> users = pieces_of(model, PieceType::kUserDefined);
  for (const PieceType type : {PieceType::kUnknown, PieceType::kControl}) {
    for (const std::string& special : pieces_of(model, type)) {
      for (const std::string& user : users) {
        if (special.find(user) == std::string::npos && !overlap(special, user)) continue;
        throw Error("tokenizer.model",
                    cat("has the user-defined piece ", shown(user),
                        ", which Hugging Face's tokenizers do not find where a text spells out ",
                        shown(special)),
                    "train it without that piece");
      }
    }
  }
}

}  // namespace

void refuse_other_ids(const Tokenizer& tokenizer) {
  if (tokenizer.is_bytes() || tokenizer.is_byte_level()) return;
  const TokenizerModel model = tokenizer_pieces(tokenizer);
  refuse_pieces_of_specials(model);
  if (model.kind != PieceModel::kBpe) return;
  const auto unused = pieces_of(model, PieceType::kUnused);
  if (!unused.empty()) {
    throw Error("tokenizer.model",
                cat("has the unused piece ", shown(unused.front()),
                    ", which sentencepiece merges and takes apart again, and Hugging Face's "
                    "tokenizers cannot"),
                "make it a piece like others, or train without it");
  }
  refuse_equal_scores(model);
}

std::string tokenizer_json_note(const Tokenizer& tokenizer) {
  if (tokenizer.is_bytes() || tokenizer.is_byte_level() ||
      tokenizer_pieces(tokenizer).kind != PieceModel::kUnigram)
    return "";
  return "a unigram model: where two ways to cut a word have the same sum of scores Hugging Face's "
         "tokenizers may take the other one than sentencepiece";
}

std::string tokenizer_json(const Tokenizer& tokenizer) {
  if (tokenizer.is_byte_level()) return byte_level_json(tokenizer);
  const TokenizerModel model = tokenizer_pieces(tokenizer);
  const bool user_defined = std::ranges::any_of(model.pieces, [](const TokenizerPiece& piece) {
    return piece.type == PieceType::kUserDefined;
  });
  if (const std::string piece = spaced_user_piece(model); !piece.empty()) {
    throw Error("tokenizer.model",
                cat("has the user-defined piece ", shown(piece),
                    ", which Hugging Face's tokenizers would not find where sentencepiece does"),
                "train it without spaces in user_defined_symbols");
  }
  if (model.add_dummy_prefix && user_defined) {
    throw Error("tokenizer.model",
                "puts a space in front of every text and has user-defined pieces, after each of "
                "which Hugging Face's tokenizers would put another one",
                "train it with add_dummy_prefix=false");
  }
  const bool is_unigram = model.kind == PieceModel::kUnigram;
  const Json all = {{"version", "1.0"},
                    {"truncation", nullptr},
                    {"padding", nullptr},
                    {"added_tokens", added_tokens(model)},
                    {"normalizer", normalizer(model)},
                    {"pre_tokenizer", is_unigram ? cuts(model) : Json()},
                    {"post_processor", nullptr},
                    {"decoder", decoder(model)},
                    {"model", is_unigram ? unigram(model) : bpe(model)}};
  return write_json(all, {.indent = 1}) + "\n";
}

std::string tokenizer_config_json(const Tokenizer& tokenizer, std::int64_t longest) {
  const auto [end, unknown] = special_names(tokenizer);
  // Training shows no begin token: texts begin after an end token.
  const Json all = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                    {"bos_token", end},
                    {"eos_token", end},
                    {"unk_token", unknown},
                    {"pad_token", end},
                    {"model_max_length", longest},
                    {"clean_up_tokenization_spaces", false},
                    {"add_bos_token", false},
                    {"add_eos_token", false},
                    {"padding_side", "left"},
                    {"split_special_tokens", true}};
  return write_json(all, {.indent = 2}) + "\n";
}

}  // namespace alibi
