#include "convert/gguf_tokenizer.h"

#include <algorithm>
#include <array>

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

// llama.cpp takes a token of such a text, whatever its type, for a marker of its own, which it
// finds in no text and may stop at: "auto-detect special tokens by text" in its llama-vocab.cpp.
constexpr std::array kMarkers = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "< EOT >",
    "[EOS]",
    "<eos>",
    "<end_of_utterance>",
    "<turn|>",
    "<|eom_id|>",
    "<|call|>",
    "<|return|>",
    "<|flush|>",
    "<|calls|>",
    "<|fim_prefix|>",
    "<fim-prefix>",
    "<fim_prefix>",
    "<PRE>",
    "<|code_prefix|>",
    "<|prefix|>",
    "<|fim_suffix|>",
    "<fim-suffix>",
    "<fim_suffix>",
    "<SUF>",
    "<|code_suffix|>",
    "<|suffix|>",
    "<|fim_middle|>",
    "<fim-middle>",
    "<fim_middle>",
    "<MID>",
    "<|code_middle|>",
    "<|middle|>",
    "<|fim_pad|>",
    "<fim-pad>",
    "<fim_pad>",
    "<PAD>",
    "[PAD]",
    "<|fim_repo|>",
    "<|repo_name|>",
    "<fim-repo>",
    "<REPO>",
    "<reponame>",
    "<|file_sep|>",
    "</s>",
    "<|tool_response>",
    "<|channel|>",
    "<|message|>",
    "<|start|>",
    "<|constrain|>",
};

void add_marker(const std::vector<std::string>& texts, std::vector<std::string>& found) {
  const auto is_marker = [](const std::string& text) {
    return std::ranges::find(kMarkers, text) != kMarkers.end();
  };
  if (const auto at = std::ranges::find_if(texts, is_marker); at != texts.end())
    found.push_back(cat("the piece ", shown(*at), ": llama.cpp takes it for a marker of its own"));
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

// tokenizers looks for those that are not normalized first, llama.cpp for the longest of all.
void add_contained(const std::vector<AddedToken>& added, std::vector<std::string>& found) {
  for (const AddedToken& first : added) {
    for (const AddedToken& later : added) {
      if (first.special || later.special || first.normalized || !later.normalized ||
          later.text.find(first.text) == std::string::npos)
        continue;
      found.push_back(cat("the token ", shown(first.text), " within ", shown(later.text),
                          ", which is normalized: llama.cpp finds the longer one first"));
      return;
    }
  }
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
    const std::vector<std::string> pieces = pieces_of(model, PieceType::kUserDefined);
    if (const auto unused = pieces_of(model, PieceType::kUnused); !unused.empty())
      found.push_back(cat("the unused piece ", shown(unused.front()), ": llama.cpp writes it"));
    if (model.add_dummy_prefix && !pieces.empty())
      found.push_back(
          cat("a tokenizer that puts a space in front of texts and has the "
              "user-defined piece ",
              shown(pieces.front()), ": llama.cpp puts another one behind it"));
    add_overlap(pieces, found);
    add_marker(pieces, found);
    add_marker(pieces_of(model, PieceType::kNormal), found);
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
  add_marker(added, found);
  add_marker(model.pieces, found);
  add_contained(model.added, found);
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
