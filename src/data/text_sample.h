// A bounded part of a text for scoring, spread over the whole of it: a curve over the first tokens
// alone would measure its first documents.
//
// The text is cut into n whole windows side by side. All are taken when they fit into `most`
// tokens; else k groups of neighbouring windows, spread evenly. Each taken part comes with the
// tokens that precede it in the text, as context that is not scored; the text's first token has
// none. Of a text with prompts, which are no targets, the rest is scored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/shards.h"
#include "text/tokenizer.h"

namespace alibi {

struct SampleRule {
  std::int64_t window = 1;   // tokens
  std::int64_t most = 1;     // tokens to take; one group at least is taken
  std::int64_t context = 1;  // tokens kept before each part
  std::int64_t group = 1;    // neighbouring windows that are taken together
};

// Windows first ... first + count - 1.
struct WindowRange {
  std::int64_t first = 0, count = 0;
  bool operator==(const WindowRange&) const = default;
};

// Which of `windows` windows are taken: rising, never touching.
std::vector<WindowRange> spread_windows(std::int64_t windows, const SampleRule& rule);

// Consecutive tokens of the text that are targets: ids[first] ... of a TextSample. The
// `context` ids before them precede them in the text.
struct SampleRun {
  std::int64_t first = 0, count = 0, context = 0;
};

struct TextSample {
  std::vector<std::int32_t> ids;  // the runs, each behind its context
  std::vector<SampleRun> runs;    // whole windows
  SampleRule rule;
  std::int64_t available = 0;          // tokens of the whole text
  std::int64_t windows = 0;            // whole windows in it
  std::vector<bool> target_mask = {};  // of each id; empty: all are

  std::int64_t targets() const;  // tokens in the runs
  bool is_target(std::int64_t index) const;
  std::vector<std::int32_t> scored() const;  // without prompts
  bool scores_anything() const;              // whether scored() holds any
  std::string hash() const;                  // SHA-256 of scored() as little-endian 32-bit numbers
  // SHA-256 of all that scored() was read behind, where there are prompts: a loss depends on them.
  // Empty where there are none: the rest of the text is not in it, as in hash().
  std::string prompts_hash() const;
  std::string describe() const;  // "12 of 57 windows of 1280 tokens, spread evenly over the text"
};

// Without a whole window in the text there are no runs.
TextSample sample_tokens(const TokenShards& tokens, const SampleRule& rule);

// Reads and encodes all text (or reads token ids), but keeps at most
// 4 * most * (1 + context / (window * group)) tokens of it, numbers of `rule`.
// The result does not depend on the number of threads. Throws Error for what find_text and encode
// refuse, and for text without a token.
TextSample sample_files(const std::vector<std::string>& names, const Tokenizer& tokenizer,
                        int threads, const SampleRule& rule);

}  // namespace alibi
