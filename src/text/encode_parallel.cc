#include "text/encode_parallel.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "base/strings.h"

namespace alibi {
namespace {

// Some parts a thread even out their different costs.
constexpr std::size_t kPartBytes = 1 << 20;
constexpr std::size_t kPartsPerThread = 4;

void encode_part(const Tokenizer& tokenizer, EncodedPart& part, WordMemory& memory) {
  part.ids = part.follows_piece ? encode_behind(tokenizer, part.text, memory)
                                : tokenizer.encode(part.text, memory);
  count_ids(tokenizer, part);
  part.survives = tokenizer.decodes_to(part.ids, part.text, !part.follows_piece);
  if (!part.learned) std::ranges::transform(part.ids, part.ids.begin(), marked);
  if (part.ends_document) part.ids.push_back(tokenizer.end());
}

}  // namespace

std::vector<std::int32_t> encode_behind(const Tokenizer& tokenizer, std::string_view text,
                                        WordMemory& memory) {
  if (!tokenizer.adds_space()) return tokenizer.encode(text, memory);
  if (!text.starts_with(' ')) {
    throw Error("tokenizer.file",
                cat("it puts a space in front of every text, and the completion ", shown(text),
                    " begins without one"),
                "let completions begin with a space, or choose another tokenizer");
  }
  return tokenizer.encode(text.substr(1), memory);
}

void count_ids(const Tokenizer& tokenizer, EncodedPart& part) {
  for (const std::int32_t id : part.ids) {
    part.unknown += id == tokenizer.unknown();
    part.byte_fallback += tokenizer.is_byte_fallback(id);
  }
}

ParallelEncoder::ParallelEncoder(Tokenizer tokenizer, int threads, Sink sink)
    : tokenizer_(std::move(tokenizer)),
      threads_(static_cast<std::size_t>(std::max(threads, 1))),
      sink_(std::move(sink)),
      memories_(threads_) {}

bool ParallelEncoder::add(std::string_view document, int stream,
                          const std::vector<std::size_t>& turns) {
  EncodedPart part;
  part.stream = stream;
  part.learned = turns.empty();
  std::size_t first = 0;
  for (std::size_t i = 0; i <= turns.size(); ++i) {
    const std::size_t end =
        i < turns.size() ? std::min(turns[i], document.size()) : document.size();
    part.ends_document = end == document.size();
    part.follows_piece = first > 0;
    add_parts(document.substr(first, end - first), part);
    part.learned = !part.learned;
    first = end;
  }
  return !done_;
}

void ParallelEncoder::add_parts(std::string_view text, const EncodedPart& like) {
  const std::size_t whole = text.size();
  while (!text.empty() && !done_) {
    EncodedPart part = like;
    part.follows_piece = like.follows_piece || text.size() < whole;
    part.text = text.substr(0, tokenizer_.safe_cut(text, kPartBytes));
    text.remove_prefix(part.text.size());
    part.ends_document = like.ends_document && text.empty();
    bytes_ += part.text.size();
    parts_.push_back(std::move(part));
    if (bytes_ >= kPartBytes * kPartsPerThread * threads_) start();
  }
}

void ParallelEncoder::flush() {
  start();
  finish();
}

void ParallelEncoder::start() {
  finish();
  started_ = std::exchange(parts_, {});
  bytes_ = 0;
  next_ = 0;
  if (threads_ == 1) return encode_some(memories_[0]);
  for (std::size_t i = 0; i < std::min(threads_, started_.size()); ++i)
    workers_.emplace_back([this, i] { encode_some(memories_[i]); });
}

void ParallelEncoder::finish() {
  workers_.clear();
  const std::vector<EncodedPart> parts = std::exchange(started_, {});
  if (failure_) std::rethrow_exception(std::exchange(failure_, {}));
  for (const EncodedPart& part : parts) done_ = done_ || !sink_(part);
}

void ParallelEncoder::encode_some(WordMemory& memory) {
  try {
    for (std::size_t i = next_++; i < started_.size(); i = next_++)
      encode_part(tokenizer_, started_[i], memory);
  } catch (...) {
    next_ = started_.size();
    const std::lock_guard lock(failure_mutex_);
    failure_ = std::current_exception();
  }
}

}  // namespace alibi
