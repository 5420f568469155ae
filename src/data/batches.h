// Which tokens a step sees: a pure function of (seed, step), nothing else.
//
// The text is a ring of N tokens: target t is token t, its input token t - 1 (the last token, an
// eos, comes before the first). Windows of L targets are laid end to end over endless copies of
// the ring, so the tail of one epoch and the head of the next share a window and no target is ever
// dropped. Within each epoch the windows come in an order drawn from (seed, epoch).
//
// The reshape: B windows of L targets become B / s rows of L * s targets, row by row in order, so
// the flattened inputs and targets are the same for every s. With batch.draw "rows" windows are the
// rows themselves: B / s of L * s targets, each from a place of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "config/config.h"
#include "data/shards.h"
#include "text/tokenizer.h"

namespace alibi {

inline constexpr std::int64_t kIgnoreIndex = -1;

struct Batch {
  std::int64_t rows = 0;
  std::int64_t length = 0;
  std::vector<std::int64_t> inputs;   // rows * length
  std::vector<std::int64_t> targets;  // rows * length; kIgnoreIndex where it is read only
  std::vector<std::int64_t>
      document_starts;                 // per input: first position of its row it may see; or empty
  std::int64_t end = Tokenizer::kEnd;  // the token behind every document
  std::int64_t target_count() const;   // targets
};

// Fills `document_starts` of a batch: a document begins at the eos before its first
// token.
void mark_documents(Batch& batch);

class BatchReader {
 public:
  // Throws Error when `tokens` holds fewer than one window. `tokens` must outlive the reader.
  BatchReader(const TokenShards& tokens, const BatchConfig& batch, std::uint64_t seed,
              bool separate_documents);

  Batch read(std::int64_t step) const;  // steps count from 0
  // The shape of a step: the one of the config, or, with a length mixture, drawn by (seed, step).
  BatchShape shape_at(std::int64_t step) const;
  std::int64_t window_start(std::int64_t sample) const;  // first target (in the ring) of a sample
  std::int64_t windows() const { return windows_; }      // of a step

 private:
  const TokenShards& tokens_;
  BatchConfig batch_;
  std::int64_t window_;   // L, or that of a row
  std::int64_t windows_;  // B, or rows
  RandomKey key_, length_key_;
  bool separate_documents_;
};

}  // namespace alibi
