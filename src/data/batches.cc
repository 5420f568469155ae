#include "data/batches.h"

#include <algorithm>
#include <span>

#include "base/error.h"
#include "base/strings.h"
#include "text/tokenizer.h"

namespace alibi {
namespace {

// Tokens first .. first + out.size() - 1 of the endless ring.
void read_ring(const TokenShards& tokens, std::int64_t first, std::span<std::int64_t> out) {
  while (!out.empty()) {
    const std::int64_t at = first % tokens.size();
    const auto count =
        static_cast<std::size_t>(std::min<std::int64_t>(tokens.size() - at, std::ssize(out)));
    tokens.read(at, out.first(count));
    out = out.subspan(count);
    first += static_cast<std::int64_t>(count);
  }
}

}  // namespace

std::int64_t Batch::target_count() const {
  return std::ssize(targets) - std::ranges::count(targets, kIgnoreIndex);
}

void mark_documents(Batch& batch) {
  batch.document_starts.assign(batch.inputs.size(), 0);
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    std::int64_t start = 0;
    for (std::int64_t i = 0; i < batch.length; ++i) {
      const auto at = static_cast<std::size_t>(row * batch.length + i);
      if (batch.inputs[at] == batch.end) start = i;
      batch.document_starts[at] = start;
    }
  }
}

BatchReader::BatchReader(const TokenShards& tokens, const BatchConfig& batch, std::uint64_t seed,
                         bool separate_documents)
    : tokens_(tokens),
      batch_(batch),
      window_(batch.draw == Draw::kRows ? batch_shape(batch).length : batch.sequence_length),
      windows_(batch.draw == Draw::kRows ? batch_shape(batch).rows : batch.sequences),
      key_(RandomKey{seed}.with("order")),
      length_key_(RandomKey{seed}.with("lengths")),
      separate_documents_(separate_documents) {
  if (tokens.size() >= window_) return;
  throw Error("data.train",
              cat("found ", tokens.size(), " tokens, expected at least one window of ", window_,
                  " (batch.sequence_length", window_ < batch.sequence_length ? " * scaling)" : ")"),
              "give more text or a shorter sequence_length");
}

std::int64_t BatchReader::window_start(std::int64_t sample) const {
  const std::int64_t size = tokens_.size();
  // Window g covers targets g L .. g L + L - 1; an epoch owns the windows that start inside it.
  const std::int64_t epoch = sample * window_ / size;
  const std::int64_t first = (epoch * size + window_ - 1) / window_;
  const std::int64_t last = ((epoch + 1) * size + window_ - 1) / window_;
  const Permutation order(key_.with(static_cast<std::uint64_t>(epoch)),
                          static_cast<std::uint64_t>(last - first));
  const auto window =
      first + static_cast<std::int64_t>(order(static_cast<std::uint64_t>(sample - first)));
  return window * window_ % size;
}

BatchShape BatchReader::shape_at(std::int64_t step) const {
  const auto& mixture = batch_.length_mixture;
  if (mixture.empty()) return batch_shape(batch_);
  const double drawn = uniform(length_key_, static_cast<std::uint64_t>(step));
  return batch_shape(
      batch_, mixture[static_cast<std::size_t>(drawn * static_cast<double>(mixture.size()))]);
}

Batch BatchReader::read(std::int64_t step) const {
  const BatchShape shape = shape_at(step);
  Batch batch{.rows = shape.rows,
              .length = shape.length,
              .inputs = {},
              .targets = {},
              .document_starts = {}};
  batch.inputs.resize(static_cast<std::size_t>(shape.tokens()));
  batch.targets.resize(batch.inputs.size());
  std::vector<std::int64_t> ring(static_cast<std::size_t>(window_) + 1);
  for (std::int64_t i = 0; i < windows_; ++i) {
    const std::int64_t start = window_start(step * windows_ + i);
    read_ring(tokens_, start + tokens_.size() - 1, ring);
    std::transform(ring.begin(), ring.end() - 1, batch.inputs.begin() + i * window_, unmarked);
    std::transform(ring.begin() + 1, ring.end(), batch.targets.begin() + i * window_,
                   [](std::int64_t id) { return is_marked(id) ? kIgnoreIndex : id; });
  }
  batch.end = tokens_.end();
  if (separate_documents_) mark_documents(batch);
  return batch;
}

}  // namespace alibi
