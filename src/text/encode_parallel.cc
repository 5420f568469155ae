#include "text/encode_parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace alibi {
namespace {

// A part is long enough for its words to repeat (the tokenizer remembers them within a call); some
// parts a thread even out their different costs.
constexpr std::size_t kPartBytes = 1 << 20;
constexpr std::size_t kPartsPerThread = 4;

void encode_part(const Tokenizer& tokenizer, EncodedPart& part) {
  part.ids = tokenizer.encode(part.text);
  for (const std::int32_t id : part.ids) {
    part.unknown += id == tokenizer.unknown();
    part.byte_fallback += tokenizer.is_byte_fallback(id);
  }
  part.survives = tokenizer.decode(part.ids) == part.text;
  if (part.ends_document) part.ids.push_back(tokenizer.end());
}

}  // namespace

ParallelEncoder::ParallelEncoder(Tokenizer tokenizer, int threads, Sink sink)
    : tokenizer_(std::move(tokenizer)),
      threads_(static_cast<std::size_t>(std::max(threads, 1))),
      sink_(std::move(sink)) {}

bool ParallelEncoder::add(std::string_view document, int stream) {
  while (!document.empty() && !done_) {
    EncodedPart part;
    part.text = document.substr(0, tokenizer_.safe_cut(document, kPartBytes));
    document.remove_prefix(part.text.size());
    part.stream = stream;
    part.ends_document = document.empty();
    bytes_ += part.text.size();
    parts_.push_back(std::move(part));
    if (bytes_ >= kPartBytes * kPartsPerThread * threads_) flush();
  }
  return !done_;
}

void ParallelEncoder::flush() {
  encode_all();
  for (const EncodedPart& part : parts_) done_ = done_ || !sink_(part);
  parts_.clear();
  bytes_ = 0;
}

void ParallelEncoder::encode_all() {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < parts_.size(); i = next++)
        encode_part(tokenizer_, parts_[i]);
    } catch (...) {
      next = parts_.size();
      const std::lock_guard lock(failure_mutex);
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min(threads_, parts_.size()); ++i) helpers.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace alibi
