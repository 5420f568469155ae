#include "text/tokenizer.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <exception>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/checksums.h"
#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "formats/tokenizer_model.h"

namespace alibi {
namespace {

constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581, how a model writes a space
constexpr std::uint64_t kLargestModel = 1 << 28;
constexpr std::int32_t kFirstByte = 3;
// Stretches handed to sentencepiece at once. Its agenda is a heap over the whole of what it is
// given, so short is fast (lines 7.2, whole texts 4.9 MB/s a thread, Zen 5).
constexpr std::size_t kStretch = 1024;
// Between two borders lies a word with the spaces before it. Most have been seen before:
// remembering their ids gave 17 instead of 4.4 MB/s a thread on English, 7.8 on Python source (4096
// tokens, Zen 5, a shared machine). Longer words are rarely seen twice.
constexpr std::size_t kLongestWord = 64;
constexpr std::size_t kLongestLine = 1 << 16;  // beyond it a cut before a space will do
constexpr std::size_t kForcedCut = 1 << 20;  // sentencepiece takes some 100 bytes of memory a byte
// sentencepiece reads up to this many nested user-defined pieces into a buffer on its stack.
constexpr std::size_t kMostNested = 64;

std::string surface_of(const TokenizerPiece& piece) {
  if (piece.type == PieceType::kUnknown || piece.type == PieceType::kControl) return "";
  if (piece.type == PieceType::kByte) {  // "<0xAB>"
    return std::string(1, static_cast<char>(std::stoi(piece.text.substr(3, 2), nullptr, 16)));
  }
  std::string text;
  std::string_view rest = piece.text;
  while (!rest.empty()) {
    const bool space = rest.starts_with(kSpace);
    text += space ? ' ' : rest[0];
    rest.remove_prefix(space ? kSpace.size() : 1);
  }
  return text;
}

bool is_byte_piece(const std::string& text) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
  return text.size() == 6 && text.starts_with("<0x") && digit(text[3]) && digit(text[4]) &&
         text[5] == '>';
}

void check_specials(const TokenizerModel& model, const std::string& place) {
  const auto type = [&](std::size_t id) {
    return id < model.pieces.size() ? model.pieces[id].type : PieceType::kUnused;
  };
  if (type(0) != PieceType::kUnknown || type(1) != PieceType::kControl ||
      type(2) != PieceType::kControl) {
    throw Error(place, "ids 0, 1, 2 are not unknown, begin and end",
                "train the model with unk_id=0, bos_id=1, eos_id=2");
  }
}

void check_spelling(const TokenizerModel& model, const std::string& place) {
  if (model.kind != PieceModel::kBpe && model.kind != PieceModel::kUnigram) {
    throw Error(place, "is a word or character model", "expected model type bpe or unigram");
  }
  if (model.changes_characters) {
    throw Error(
        place,
        cat("changes characters before reading them (normalization \"", model.normalizer, "\")"),
        "train it with normalization_rule_name=identity");
  }
  if (model.remove_extra_whitespaces || !model.escape_whitespaces || model.whitespace_as_suffix) {
    throw Error(
        place, "drops or moves spaces, so text would not survive it",
        "train it with remove_extra_whitespaces=false and without treat_whitespace_as_suffix");
  }
}

void check_pieces(const TokenizerModel& model, const std::string& place) {
  std::set<std::string_view> user_defined;
  for (const TokenizerPiece& piece : model.pieces) {
    if (piece.type == PieceType::kUserDefined) user_defined.insert(piece.text);
    if (piece.type == PieceType::kByte && !is_byte_piece(piece.text)) {
      throw Error(place, cat("byte piece \"", piece.text, "\""), "expected <0x00> to <0xFF>");
    }
  }
  for (const std::string_view piece : user_defined) {
    std::size_t nested = 0;
    for (std::size_t size = 1; size <= piece.size() && nested <= kMostNested; ++size) {
      nested += user_defined.count(piece.substr(0, size));
    }
    if (nested > kMostNested)
      throw Error(place, cat("more than ", kMostNested, " nested user-defined pieces"));
  }
}

// Where encoding may start afresh: no piece reaches over the border, and the characters at the
// border are known (runs of unknown ones become a single token).
struct Borders {
  bool after_line = false;    // behind "\n"
  bool before_space = false;  // between something else and a space
};

Borders find_borders(const TokenizerModel& model) {
  bool newline = model.byte_fallback;
  bool space = model.byte_fallback;
  Borders borders{!model.add_dummy_prefix, !model.add_dummy_prefix};
  for (const TokenizerPiece& piece : model.pieces) {
    if (piece.type != PieceType::kNormal && piece.type != PieceType::kUserDefined) continue;
    newline = newline || piece.text == "\n";
    space = space || piece.text == kSpace;
    const std::size_t line = piece.text.find('\n');
    if (line != std::string::npos && line + 1 < piece.text.size()) borders.after_line = false;
    std::size_t letters = 0;  // leading spaces end here; none may follow
    while (std::string_view(piece.text).substr(letters).starts_with(kSpace))
      letters += kSpace.size();
    if (piece.text.find(kSpace, letters) != std::string::npos) borders.before_space = false;
  }
  borders.after_line = borders.after_line && newline;
  borders.before_space = borders.before_space && space;
  return borders;
}

std::size_t character_start(std::string_view text, std::size_t at) {
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

// The first space of a run of spaces in [from, text.size()), else text.size().
std::size_t cut_before_space(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find(' ', from); at < text.size(); at = text.find(' ', at + 1)) {
    const std::string_view before = text.substr(0, at);
    if (!before.ends_with(' ') && !before.ends_with(kSpace)) return at;
  }
  return text.size();
}

// The first border of either kind in `text`, or beyond kLongestWord when none is near.
std::size_t word_end(std::string_view text) {
  const std::size_t reach = std::min(text.size(), kLongestWord + 1);
  for (std::size_t at = 1; at < reach; ++at) {
    if (text[at - 1] == '\n') return at;
    if (text[at] == ' ' && text[at - 1] != ' ' && !text.substr(0, at).ends_with(kSpace)) return at;
  }
  return reach;
}

// Where the ids of a word stand in the result so far.
struct Range {
  std::size_t first;
  std::size_t size;
};

}  // namespace

struct Tokenizer::State {
  std::string model;
  std::string hash;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor;  // none for bytes
  std::vector<std::string> surfaces;
  std::vector<bool> byte_fallback;
  Borders borders;
  bool dummy_prefix = false;

  void encode(std::string_view text, std::vector<int>& ids) const {
    ensure(processor->Encode(text, &ids).ok(), "a loaded tokenizer encodes any text");
  }
};

Tokenizer Tokenizer::bytes() {
  auto state = std::make_shared<State>();
  state->hash = sha256_hex("bytes");
  state->surfaces.resize(kByteVocabulary);
  for (std::size_t byte = 0; byte < 256; ++byte) {
    state->surfaces[kFirstByte + byte] = std::string(1, static_cast<char>(byte));
  }
  state->byte_fallback.resize(kByteVocabulary, false);
  return Tokenizer(std::move(state));
}

Tokenizer Tokenizer::from_model(std::string serialized, const std::string& place) {
  const TokenizerModel model = parse_tokenizer_model(serialized, place);
  check_specials(model, place);
  check_spelling(model, place);
  check_pieces(model, place);
  auto state = std::make_shared<State>();
  state->processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  sentencepiece::SetMinLogLevel(3);  // its own messages go to stderr; ours say the same
  try {
    const auto status = state->processor->LoadFromSerializedProto(serialized);
    if (!status.ok()) throw Error(place, cat("sentencepiece refuses it: ", status.message()));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {  // its trie throws for sets of pieces it cannot hold
    throw Error(place, cat("sentencepiece refuses it: ", error.what()));
  }
  for (const TokenizerPiece& piece : model.pieces) {
    state->surfaces.push_back(surface_of(piece));
    state->byte_fallback.push_back(piece.type == PieceType::kByte);
  }
  state->borders = find_borders(model);
  state->dummy_prefix = model.add_dummy_prefix;
  state->hash = sha256_hex(serialized);
  state->model = std::move(serialized);
  return Tokenizer(std::move(state));
}

Tokenizer Tokenizer::from_file(const std::filesystem::path& path) {
  return from_model(read_file(path, kLargestModel), path.string());
}

std::int64_t Tokenizer::vocabulary() const {
  return static_cast<std::int64_t>(state_->surfaces.size());
}
const std::string& Tokenizer::model() const { return state_->model; }
const std::string& Tokenizer::hash() const { return state_->hash; }

std::size_t Tokenizer::safe_cut(std::string_view text, std::size_t least) const {
  least = std::max<std::size_t>(least, 1);
  const Borders& borders = state_->borders;
  if (least >= text.size()) return text.size();
  if (is_bytes()) return least;
  if (!borders.after_line && !borders.before_space) return text.size();
  if (borders.after_line) {
    const std::size_t reach = borders.before_space ? kLongestLine : kForcedCut;
    const std::size_t line = text.substr(0, least + reach).find('\n', least - 1);
    if (line != std::string_view::npos) return line + 1;
  }
  const std::string_view near = text.substr(0, least + kForcedCut);
  const std::size_t cut = borders.before_space ? cut_before_space(near, least) : near.size();
  return cut < near.size() || near.size() == text.size() ? cut : character_start(text, cut);
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  if (is_bytes()) {
    ids.reserve(text.size());
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c) + kFirstByte);
    return ids;
  }
  ids.reserve(text.size() / 3);
  const bool words = state_->borders.after_line && state_->borders.before_space;
  std::unordered_map<std::string_view, Range> known;
  std::vector<int> some;
  while (!text.empty()) {
    const std::size_t word = words ? word_end(text) : kLongestWord + 1;
    const bool keep = word <= kLongestWord;
    const std::string_view stretch = text.substr(0, keep ? word : safe_cut(text, kStretch));
    text.remove_prefix(stretch.size());
    if (keep) {
      const auto [at, is_new] = known.try_emplace(stretch, Range{ids.size(), 0});
      if (!is_new) {
        const Range range = at->second;
        for (std::size_t i = 0; i < range.size; ++i) ids.push_back(ids[range.first + i]);
        continue;
      }
      state_->encode(stretch, some);
      at->second.size = some.size();
    } else {
      state_->encode(stretch, some);
    }
    ids.insert(ids.end(), some.begin(), some.end());
  }
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  StreamDecoder decoder(*this);
  for (const std::int32_t id : ids) text += decoder.next(id);
  return text;
}

std::string StreamDecoder::next(std::int32_t id) {
  std::string piece = tokenizer_.surface(id);
  if (at_start_ && tokenizer_.adds_space() && piece.starts_with(' ')) piece.erase(0, 1);
  at_start_ = at_start_ && tokenizer_.byte_length(id) == 0;  // specials are not text yet
  return piece;
}

const std::string& Tokenizer::surface(std::int32_t id) const {
  ensure(id >= 0 && id < vocabulary(), "an id is below the vocabulary");
  return state_->surfaces[static_cast<std::size_t>(id)];
}

bool Tokenizer::adds_space() const { return state_->dummy_prefix; }

std::int64_t Tokenizer::byte_length(std::int32_t id) const {
  return static_cast<std::int64_t>(surface(id).size());
}

bool Tokenizer::is_byte_fallback(std::int32_t id) const {
  ensure(id >= 0 && id < vocabulary(), "an id is below the vocabulary");
  return state_->byte_fallback[static_cast<std::size_t>(id)];
}

}  // namespace alibi
