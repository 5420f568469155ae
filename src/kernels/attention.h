// What an attention kernel is asked for, in plain numbers: enough to decide which kernel can do it.
//
// Scores are q.k * scale + bias(query, key) over the keys that a query may see: j <= query_offset +
// i, and not before its document's start. With linear biases (Press et al. 2021, section 3) the
// bias is slope_h * (j - i).
#pragma once

#include <cstdint>

namespace alibi {

enum class ScalarKind { kFp64, kFp32, kBf16 };
enum class ScoreBias { kNone, kLinear, kBuckets };

// What a tiled kernel may leave out (attention_skip.h): nothing, what is zero to the last bit, or
// what is below the rounding of its row.
enum class SkipRule { kOff, kExact, kEpsilon };

struct AttentionProblem {
  std::int64_t sequences = 0;        // B
  std::int64_t heads = 0;            // H
  std::int64_t key_value_heads = 0;  // divides heads
  std::int64_t queries = 0;          // T
  std::int64_t keys = 0;             // S >= T
  std::int64_t head_width = 0;       // D
  ScalarKind scalar = ScalarKind::kFp32;
  ScoreBias bias = ScoreBias::kNone;
  bool bias_gradient = false;  // learned slopes or bucket table
  bool dropout = false;
  bool documents = false;  // packed documents with their own first visible key
};

}  // namespace alibi
