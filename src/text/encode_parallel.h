// Documents to token ids on several threads, results in the order of the documents.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "text/tokenizer.h"

namespace alibi {

// A document or, cut where the tokenizer allows it, a part of a long one.
struct EncodedPart {
  std::string text;
  int stream = 0;  // what add() was given
  bool ends_document = false;
  bool learned = true;            // false: of a prompt, the ids are marked
  bool follows_piece = false;     // of the document
  std::vector<std::int32_t> ids;  // with the end token when ends_document
  std::int64_t unknown = 0;       // unknown tokens in ids
  std::int64_t byte_fallback = 0;
  bool survives = true;  // decode(ids) == text
};

// Counts the part's unknown and fallback tokens: call before ids are marked and the end is added.
void count_ids(const Tokenizer& tokenizer, EncodedPart& part);

// The ids of the middle of a text, which begins with a space where the tokenizer puts one in front
// of every text: that space is none of the middle. Throws Error where it does not.
std::vector<std::int32_t> encode_behind(const Tokenizer& tokenizer, std::string_view text,
                                        WordMemory& memory);

class ParallelEncoder {
 public:
  // Called on the caller's thread, in order, for every part; returns false to take no more.
  using Sink = std::function<bool(const EncodedPart&)>;
  ParallelEncoder(Tokenizer tokenizer, int threads, Sink sink);

  // Copies; encodes when enough has come together. What lies between turns (text/documents.h)
  // is encoded on its own, as generation will see it. Returns false once the sink takes no more;
  // throws Error where the tokenizer puts a space in front of what follows a turn and none stands
  // there.
  bool add(std::string_view document, int stream, const std::vector<std::size_t>& turns = {});
  void flush();  // call after the last document

 private:
  void add_parts(std::string_view text, const EncodedPart& like);
  // Encodes what has come together while the caller goes on; with one thread, before that.
  void start();
  void finish();  // waits for it and hands it out
  void encode_some(WordMemory& memory);

  Tokenizer tokenizer_;
  std::size_t threads_;
  Sink sink_;
  std::vector<EncodedPart> parts_;  // come together
  std::size_t bytes_ = 0;           // of these
  bool done_ = false;
  std::vector<WordMemory> memories_;  // of each thread
  // In work.
  std::vector<EncodedPart> started_;
  std::atomic<std::size_t> next_ = 0;
  std::exception_ptr failure_;
  std::mutex failure_mutex_;
  std::vector<std::jthread> workers_;  // last: they see the members above
};

}  // namespace alibi
