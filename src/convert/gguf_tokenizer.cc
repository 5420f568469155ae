#include "convert/gguf_tokenizer.h"

#include <algorithm>

#include "base/printable.h"
#include "base/strings.h"
#include "convert/pieces.h"
#include "formats/byte_level_json.h"

namespace alibi {
namespace {

std::uint32_t number(std::int64_t value) { return static_cast<std::uint32_t>(value); }

std::int32_t number_of(PieceType type) { return static_cast<std::int32_t>(type); }

ByteLevelModel byte_level(const Tokenizer& tokenizer) {
  return parse_byte_level_json(tokenizer.model(), "tokenizer.json", false);
}

GgufKeys sentencepiece_keys(const Tokenizer& tokenizer) {
  const TokenizerModel model = tokenizer_pieces(tokenizer);
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<std::int32_t> types;
  for (const TokenizerPiece& piece : model.pieces) {
    tokens.push_back(piece.text);
    scores.push_back(piece.score);
    types.push_back(number_of(piece.type));
  }
  return {{"tokenizer.ggml.model", "llama"},
          {"tokenizer.ggml.pre", "default"},
          {"tokenizer.ggml.tokens", std::move(tokens)},
          {"tokenizer.ggml.scores", std::move(scores)},
          {"tokenizer.ggml.token_type", std::move(types)},
          {"tokenizer.ggml.unknown_token_id", number(Tokenizer::kUnknown)},
          {"tokenizer.ggml.add_space_prefix", model.add_dummy_prefix},
          {"tokenizer.ggml.remove_extra_whitespaces", false}};
}

GgufKeys byte_level_keys(const Tokenizer& tokenizer) {
  const ByteLevelModel model = byte_level(tokenizer);
  std::vector<std::string> tokens, merges;
  std::vector<std::int32_t> types;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const bool used = !model.pieces[id].empty();
    tokens.push_back(used ? byte_level_text(model.pieces[id]) : cat("[unused ", id, "]"));
    types.push_back(number_of(used ? PieceType::kNormal : PieceType::kUnused));
  }
  // These llama.cpp compares with the text itself.
  for (const AddedToken& token : model.added) {
    const auto at = static_cast<std::size_t>(token.id);
    tokens[at] = token.text;
    types[at] = number_of(token.special ? PieceType::kControl : PieceType::kUserDefined);
  }
  for (const ByteMerge& merge : model.merges) {
    merges.push_back(cat(tokens[static_cast<std::size_t>(merge.left)], " ",
                         tokens[static_cast<std::size_t>(merge.right)]));
  }
  return {{"tokenizer.ggml.model", "gpt2"},
          {"tokenizer.ggml.pre", "gpt-2"},
          {"tokenizer.ggml.tokens", std::move(tokens)},
          {"tokenizer.ggml.token_type", std::move(types)},
          {"tokenizer.ggml.merges", std::move(merges)}};
}

// Whether a text may hold both with a part in common: which one is found then differs between
// programs that look for the longest first and those that go from left to right. Runs of one
// character, as of spaces, come out the same.
bool overlap(std::string_view first, std::string_view second) {
  const auto is_run = [&](std::string_view text) {
    return text.find_first_not_of(text.front()) == std::string_view::npos;
  };
  if (is_run(first) && is_run(second)) return false;
  for (std::size_t common = 1; common < std::min(first.size(), second.size()); ++common)
    if (first.ends_with(second.substr(0, common))) return true;
  return false;
}

void add_overlap(const std::vector<std::string>& pieces, std::vector<std::string>& found) {
  for (const std::string& first : pieces) {
    for (const std::string& second : pieces) {
      if (first == second || !overlap(first, second)) continue;
      found.push_back(cat("the pieces ", shown(first), " and ", shown(second),
                          " that may overlap in a text: llama.cpp finds the longer one first"));
      return;
    }
  }
}

// The texts that are looked for before others are cut.
std::vector<std::string> user_pieces(const TokenizerModel& model) {
  std::vector<std::string> texts;
  for (const TokenizerPiece& piece : model.pieces)
    if (piece.type == PieceType::kUserDefined) texts.push_back(piece.text);
  return texts;
}

}  // namespace

std::vector<std::string> gguf_tokenizer_obstacles(const Tokenizer& tokenizer) {
  if (tokenizer.is_bytes()) return {};
  std::vector<std::string> found;
  if (!tokenizer.is_byte_level()) {
    const TokenizerModel model = tokenizer_pieces(tokenizer);
    if (model.kind == PieceModel::kUnigram)
      found.emplace_back(
          "a unigram tokenizer: llama.cpp cuts text otherwise; bpe is the same there");
    if (!model.byte_fallback)
      found.emplace_back("a tokenizer without byte_fallback: llama.cpp fails on other characters");
    if (const std::string piece = spaced_user_piece(model); !piece.empty())
      found.push_back(
          cat("the user-defined piece ", shown(piece), ": its spaces mean others there"));
    const std::vector<std::string> pieces = user_pieces(model);
    if (model.add_dummy_prefix && !pieces.empty())
      found.push_back(
          cat("a tokenizer that puts a space in front of texts and has the "
              "user-defined piece ",
              shown(pieces.front()), ": llama.cpp puts another one behind it"));
    add_overlap(pieces, found);
    return found;
  }
  const ByteLevelModel model = byte_level(tokenizer);
  if (model.patterns != std::vector<std::string>{kGpt2Pattern})
    found.emplace_back("a tokenizer.json that cuts text by other patterns than GPT-2's");
  if (model.words_before_merges)
    found.emplace_back("a tokenizer.json with ignore_merges: llama.cpp's GPT-2 merges always");
  std::vector<std::string> added;
  for (const AddedToken& token : model.added)
    if (!token.special) added.push_back(token.text);
  add_overlap(added, found);
  return found;
}

std::string gguf_tokenizer_note(const Tokenizer& tokenizer) {
  if (!tokenizer.is_byte_level() || !byte_level(tokenizer).compose) return "";
  return "llama.cpp does not bring text into normal form C, as this tokenizer does: a letter and "
         "its accent in two characters get other tokens there";
}

GgufKeys gguf_tokenizer_keys(const Tokenizer& tokenizer) {
  if (tokenizer.is_bytes()) {
    return {{"tokenizer.ggml.model", "none"}, {"mpt.vocab_size", number(tokenizer.vocabulary())}};
  }
  GgufKeys keys =
      tokenizer.is_byte_level() ? byte_level_keys(tokenizer) : sentencepiece_keys(tokenizer);
  // Documents of training stand between end tokens.
  for (const char* name : {"bos", "eos", "padding"})
    keys.emplace_back(cat("tokenizer.ggml.", name, "_token_id"), number(tokenizer.end()));
  keys.emplace_back("tokenizer.ggml.add_bos_token", false);
  keys.emplace_back("tokenizer.ggml.add_eos_token", false);
  return keys;
}

}  // namespace alibi
