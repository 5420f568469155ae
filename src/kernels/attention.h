// What an attention kernel is asked for, in plain numbers: enough to decide which kernel can do it.
//
// Scores are q.k * scale + bias(query, key) over the keys that a query may see
// (kernels/visible_keys.h).
#pragma once

#include <cstdint>

#include "config/skip_rule.h"

namespace alibi {

enum class ScalarKind { kFp64, kFp32, kBf16 };

// A bias is the sum of these forms; d = i - j >= 0 is how far key j lies before query i.
struct BiasForms {
  bool slopes = false;  // - slope_h d (Press et al. 2021, section 3)
  bool table = false;   // + table[h][min(d, L - 1)]
  bool terms = false;   // + c_i - c_j, c a number for each position of each head
  bool rows = false;    // + a function of both places, which the reference alone calls
  bool operator==(const BiasForms&) const = default;
};

struct AttentionProblem {
  std::int64_t sequences = 0;        // B
  std::int64_t heads = 0;            // H
  std::int64_t key_value_heads = 0;  // divides heads
  std::int64_t queries = 0;          // T
  std::int64_t keys = 0;             // S >= T
  std::int64_t head_width = 0;       // D
  ScalarKind scalar = ScalarKind::kFp32;
  BiasForms bias;
  bool bias_gradient = false;  // of any of its forms
  bool dropout = false;
  // Of what hides keys beside order:
  bool documents = false;  // packed documents with their own first visible key
  bool pattern = false;
  bool hashed = false;  // model/hashed_keys.h
  // A part of the pattern asks where a document begins, and some do.
  bool pattern_by_documents = false;
};

}  // namespace alibi
