// Text to token ids and back: a sentencepiece model, byte-level BPE out of a tokenizer.json
// (formats/byte_level_json.h), or plain bytes (id = byte + 3).
//
// A token stands for fixed bytes of text, so decoding is concatenation, and the bytes of a stream
// of tokens (for bits per byte) are a sum. Models that rewrite characters are therefore refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/word_memory.h"

namespace alibi {

// Ids of a text that are read but not learned are marked where both kinds stand side by side.
inline constexpr std::int32_t marked(std::int32_t id) { return ~id; }
inline constexpr bool is_marked(std::int64_t id) { return id < 0; }
inline constexpr std::int64_t unmarked(std::int64_t id) { return id < 0 ? ~id : id; }

inline constexpr std::uint64_t kLargestTokenizer = 64ull << 20;  // bytes of its file

// A value: cheap to copy; all const functions may be called from several threads.
class Tokenizer {
 public:
  // Of sentencepiece models and bytes; a tokenizer.json has its own: end(), unknown().
  static constexpr std::int32_t kUnknown = 0;
  static constexpr std::int32_t kBegin = 1;
  static constexpr std::int32_t kEnd = 2;
  static constexpr std::int64_t kByteVocabulary = 259;

  static Tokenizer bytes();
  // Throws Error at `place` unless it is a sound BPE or unigram model without character changes,
  // with ids 0 unknown, 1 begin, 2 end, or, where it begins with '{', a byte-level tokenizer.json.
  static Tokenizer from_model(std::string serialized, const std::string& place);
  static Tokenizer from_file(const std::filesystem::path& path);
  // tokenizer.model or, where that is not there, tokenizer.json of a folder.
  static Tokenizer from_folder(const std::filesystem::path& folder);
  // From what model() returned.
  static Tokenizer restored(const std::string& model, const std::string& place);
  // What a file of that content is called.
  static const char* file_name(std::string_view model);

  std::int64_t vocabulary() const;
  bool is_bytes() const { return model().empty(); }
  bool is_byte_level() const;
  const std::string& model() const;  // serialized sentencepiece model or JSON; "" for bytes
  const std::string& hash() const;   // SHA-256 of the model, or of "bytes"

  std::int32_t end() const;                    // behind every document, and nowhere else
  std::int32_t unknown() const;                // -1 where every text has tokens
  std::vector<std::int32_t> specials() const;  // stand for no text; without the end

  // No end token is added. Valid UTF-8 expected (else U+FFFD stands in, except in byte mode).
  // sentencepiece works in short stretches that no token crosses: the same ids as the whole text at
  // once (only within 1 MiB without a space or line end is a cut forced). Byte-level BPE takes the
  // whole text, and so does a unigram model that adds a space; another one does up to 1 MiB.
  std::vector<std::int32_t> encode(std::string_view text) const;
  // The same with the words of earlier texts in mind, for one thread at a time.
  std::vector<std::int32_t> encode(std::string_view text, WordMemory& memory) const;
  // The end of a stretch of at least `least` bytes from the start of `text` after which encoding
  // may start afresh with the same result, of a model that adds a space without the one that
  // follows (encode_behind); text.size() where there is none.
  std::size_t safe_cut(std::string_view text, std::size_t least) const;

  // Specials decode to nothing. Without `at_start` the ids are from the middle of a text.
  std::string decode(std::span<const std::int32_t> ids, bool at_start = true) const;
  bool decodes_to(std::span<const std::int32_t> ids, std::string_view text,
                  bool at_start = true) const;
  // The bytes of text a token stands for; specials 0. The sum over encode(text) is text.size(),
  // unless the text holds U+2581 (read as a space by sentencepiece), the model adds a space in
  // front, has no piece for a space (and spells U+2581 in bytes), or composes characters (NFC).
  std::int64_t byte_length(std::int32_t id) const;
  const std::string& surface(std::int32_t id) const;  // those bytes
  bool adds_space() const;  // puts a space in front of every text, which decode() drops
  bool is_byte_fallback(std::int32_t id) const;  // one byte of a character outside the vocabulary

 private:
  struct State;
  explicit Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// decode() token by token: all that next() returned, joined, is decode() of all ids at once.
class StreamDecoder {
 public:
  explicit StreamDecoder(Tokenizer tokenizer, bool at_start = true)
      : tokenizer_(std::move(tokenizer)), at_start_(at_start) {}
  // at_start: these ids begin a text, so that the space a model puts in front of one is dropped.
  std::string next(std::int32_t id);

 private:
  Tokenizer tokenizer_;
  bool at_start_;
};

}  // namespace alibi
