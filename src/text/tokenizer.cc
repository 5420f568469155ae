#include "text/tokenizer.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "base/checksums.h"
#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "text/byte_level.h"
#include "text/sentencepiece_model.h"

namespace alibi {
namespace {

constexpr std::int32_t kFirstByte = 3;
// Stretches handed to sentencepiece at once. Its agenda is a heap over the whole of what it is
// given, so short is fast (lines 7.2, whole texts 4.9 MB/s a thread, Zen 5).
constexpr std::size_t kStretch = 1024;
// Between two borders lies a word with the spaces before it. Most have been seen before:
// remembering their ids gave 17 instead of 4.4 MB/s a thread on English, 7.8 on Python source (4096
// tokens, Zen 5, a shared machine).
constexpr std::size_t kLongestWord = WordMemory::kLongestWord;
constexpr std::size_t kLongestLine = 1 << 16;  // beyond it a cut before a space will do
constexpr std::size_t kForcedCut = 1 << 20;  // sentencepiece takes some 100 bytes of memory a byte

std::size_t character_start(std::string_view text, std::size_t at) {
  while (at > 0 && inside_character(text[at])) --at;
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

std::string_view cut_front(std::string_view& text, std::size_t size) {
  const std::string_view front = text.substr(0, size);
  text.remove_prefix(front.size());
  return front;
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

// The first space between two ASCII letters or digits, where encoding may start afresh.
std::size_t byte_level_cut(const ByteLevelBpe& bpe, std::string_view text, std::size_t from) {
  const auto plain = [&](std::size_t at) {
    const char c = text[at];
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (!bpe.cuts_between_words()) return text.size();
  const std::size_t last = text.size() - 1;
  for (std::size_t at = text.find(' ', from); at < last; at = text.find(' ', at + 1)) {
    if (plain(at - 1) && plain(at + 1)) return at;
  }
  return text.size();
}

// The text of a token; the first of a text loses the space that the model put in front of it.
std::string_view text_of(const Tokenizer& tokenizer, std::int32_t id, bool& at_start) {
  std::string_view piece = tokenizer.surface(id);
  if (at_start && tokenizer.adds_space() && piece.starts_with(' ')) piece.remove_prefix(1);
  at_start = at_start && tokenizer.byte_length(id) == 0;  // specials are not text yet
  return piece;
}

}  // namespace

struct Tokenizer::State {
  std::string model;
  std::string hash;
  // One of them, or neither for bytes.
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor;
  std::unique_ptr<const ByteLevelBpe> byte_level;
  std::vector<std::string> surfaces;
  std::vector<bool> byte_fallback;
  std::int32_t end = 2;
  std::int32_t unknown = 0;
  Borders borders;
  bool dummy_prefix = false;

  void encode(std::string_view text, std::vector<int>& ids) const {
    ensure(processor->Encode(text, &ids).ok(), "a loaded tokenizer encodes any text");
  }
};

namespace {

std::unique_ptr<sentencepiece::SentencePieceProcessor> load_processor(const std::string& serialized,
                                                                      const std::string& place) {
  auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  sentencepiece::SetMinLogLevel(3);  // its own messages go to stderr; ours say the same
  try {
    const auto status = processor->LoadFromSerializedProto(serialized);
    if (!status.ok()) throw Error(place, cat("sentencepiece refuses it: ", status.message()));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {  // its trie throws for sets of pieces it cannot hold
    throw Error(place, cat("sentencepiece refuses it: ", error.what()));
  }
  return processor;
}

// Behind white space; 0 where none precedes a JSON object. (A sentencepiece model begins with a
// line end, too.)
std::size_t start_of_json(std::string_view text) {
  constexpr const char* kWhite = " \t\r\n";
  const std::size_t start = text.find_first_not_of(kWhite);
  if (start == std::string_view::npos || text[start] != '{') return 0;
  const std::size_t next = text.find_first_not_of(kWhite, start + 1);
  return next != std::string_view::npos && text[next] == '"' ? start : 0;
}

}  // namespace

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
  auto state = std::make_shared<State>();
  if (serialized.starts_with("\xef\xbb\xbf"))
    throw Error(place, "begins with a byte order mark", "save it as UTF-8 without one");
  if (const std::size_t start = start_of_json(serialized); start > 0) serialized.erase(0, start);
  if (serialized.starts_with('{')) {
    state->byte_level =
        std::make_unique<ByteLevelBpe>(parse_byte_level_json(serialized, place), place);
    const ByteLevelModel& model = state->byte_level->model();
    state->surfaces = model.pieces;
    state->byte_fallback.resize(model.pieces.size(), false);
    state->end = model.end;
    state->unknown = -1;
  } else {
    const TokenizerModel model = parse_tokenizer_model(serialized, place);
    check_sentencepiece(model, place);
    state->processor = load_processor(serialized, place);
    for (const TokenizerPiece& piece : model.pieces) {
      state->surfaces.push_back(surface_of(piece));
      state->byte_fallback.push_back(piece.type == PieceType::kByte);
    }
    state->borders = find_borders(model);
    state->dummy_prefix = model.add_dummy_prefix;
  }
  state->hash = sha256_hex(serialized);
  state->model = std::move(serialized);
  return Tokenizer(std::move(state));
}

Tokenizer Tokenizer::restored(const std::string& model, const std::string& place) {
  return model.empty() ? bytes() : from_model(model, place);
}

const char* Tokenizer::file_name(std::string_view model) {
  return model.starts_with('{') ? "tokenizer.json" : "tokenizer.model";
}

Tokenizer Tokenizer::from_file(const std::filesystem::path& path) {
  return from_model(read_file(path, kLargestTokenizer), path.string());
}

Tokenizer Tokenizer::from_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  const std::filesystem::path json = folder / "tokenizer.json", model = folder / "tokenizer.model";
  return from_file(
      !std::filesystem::exists(model, ignored) && std::filesystem::exists(json, ignored) ? json
                                                                                         : model);
}

std::vector<std::int32_t> Tokenizer::specials() const {
  std::vector<std::int32_t> ids;
  for (std::int32_t id = 0; id < vocabulary(); ++id)
    if (id != end() && surface(id).empty()) ids.push_back(id);
  return ids;
}

std::int64_t Tokenizer::vocabulary() const {
  return static_cast<std::int64_t>(state_->surfaces.size());
}
const std::string& Tokenizer::model() const { return state_->model; }
const std::string& Tokenizer::hash() const { return state_->hash; }
bool Tokenizer::is_byte_level() const { return state_->byte_level != nullptr; }
std::int32_t Tokenizer::end() const { return state_->end; }
std::int32_t Tokenizer::unknown() const { return state_->unknown; }

std::size_t Tokenizer::safe_cut(std::string_view text, std::size_t least) const {
  const Borders& borders = state_->borders;
  least = std::max<std::size_t>(least, borders.only_if_long ? kForcedCut : 1);
  if (least >= text.size()) return text.size();
  if (is_bytes()) return least;
  if (is_byte_level()) return byte_level_cut(*state_->byte_level, text, least);
  if (!borders.after_line && !borders.before_space) return text.size();
  if (borders.after_line) {
    const std::size_t reach = borders.before_space ? kLongestLine : kForcedCut;
    const std::size_t line = text.substr(0, least + reach).find('\n', least - 1);
    if (line != std::string_view::npos) return line + 1;
  }
  // A model that puts a space in front of a text needs one at each cut, and one behind that space:
  // it puts none in front of an empty text.
  const bool prefixed = adds_space();
  const std::string_view near = text.substr(0, prefixed ? text.size() : least + kForcedCut);
  const std::size_t cut = borders.before_space ? cut_before_space(near, least) : near.size();
  if (prefixed && cut + 1 == text.size()) return text.size();
  return cut < near.size() || near.size() == text.size() ? cut : character_start(text, cut);
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  WordMemory memory;
  return encode(text, memory);
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, WordMemory& memory) const {
  std::vector<std::int32_t> ids;
  if (is_bytes()) {
    ids.reserve(text.size());
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c) + kFirstByte);
    return ids;
  }
  if (is_byte_level()) return state_->byte_level->encode(text, memory);
  ids.reserve(text.size() / 3);
  const std::size_t whole = text.size();
  const Borders& borders = state_->borders;
  const bool words = borders.after_line && borders.before_space && !borders.only_if_long;
  std::vector<int> some;
  std::array<std::string_view, 16> ahead;
  while (!text.empty()) {
    std::size_t count = 0, next = 0;
    while (words && count < ahead.size() && !text.empty() && next <= kLongestWord) {
      next = word_end(text);
      if (next <= kLongestWord) ahead[count++] = cut_front(text, next);
    }
    memory.prefetch(std::span(ahead).first(count));
    for (const std::string_view word : std::span(ahead).first(count)) {
      const auto known = memory.find(word);
      if (!known) {
        state_->encode(word, some);
        memory.add(word, some);
      }
      const WordMemory::Ids found = known ? *known : WordMemory::Ids(some);
      ids.insert(ids.end(), found.begin(), found.end());
    }
    if (text.empty() || count == ahead.size()) continue;
    const std::size_t space = adds_space() && text.size() < whole ? 1 : 0;  // the model's own
    state_->encode(cut_front(text, safe_cut(text, kStretch)).substr(space), some);
    ids.insert(ids.end(), some.begin(), some.end());
  }
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool at_start) const {
  std::string text;
  StreamDecoder decoder(*this, at_start);
  for (const std::int32_t id : ids) text += decoder.next(id);
  return text;
}

bool Tokenizer::decodes_to(std::span<const std::int32_t> ids, std::string_view text,
                           bool at_start) const {
  for (const std::int32_t id : ids) {
    const std::string_view piece = text_of(*this, id, at_start);
    if (!text.starts_with(piece)) return false;
    text.remove_prefix(piece.size());
  }
  return text.empty();
}

std::string StreamDecoder::next(std::int32_t id) {
  return std::string(text_of(tokenizer_, id, at_start_));
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
