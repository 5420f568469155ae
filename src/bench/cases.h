// The attention problems that are measured.
#pragma once

#include <string>
#include <vector>

#include "device/tensor.h"
#include "model/attention.h"

namespace alibi {

struct AttentionCase {
  std::int64_t sequences = 1, heads = 8, key_value_heads = 8, length = 1024, head_width = 64;
  torch::ScalarType type = torch::kBFloat16;
  std::string text() const;  // "4 x 1024, 8 heads of 64, bf16"
};

// Standard normal q, k, v as a model makes them: views of one (B, T, (H + 2 G) D) tensor. Slopes by
// the rule `press`.
AttentionInputs make_attention_inputs(const AttentionCase& shape, std::uint64_t seed);

// `heads` at each length, as many sequences as `tokens` tokens make: what `alibi bench attention`
// measures.
std::vector<AttentionCase> measured_cases(const AttentionCase& heads,
                                          const std::vector<std::int64_t>& lengths,
                                          std::int64_t tokens);

// Multiply-adds times two of causal attention: 2 products forward, 7 with backward as the textbook
// counts it (no recomputation, no skipping).
double attention_operations(const AttentionCase& shape, bool backward);

}  // namespace alibi
