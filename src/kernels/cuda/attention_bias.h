// What is added to the scores of one head, in base 2, by its kind (BiasKind). A lane has some rows
// of queries and some columns of keys of a tile; a bias is a part of the row in this tile, and a
// part of both that costs a tile few loads.
//
//   kSlopes  slope (first key - query)   + slope * keys behind the first
//   tables   0                           + a number for each distance, from a padded table
//   kTerms   c_query - c_first key       - (c_key - c_first key)
#pragma once

#include <cstdint>

#include "kernels/cuda/kernel_block.h"
#include "kernels/device_attention.h"

namespace alibi {

ALIBI_KERNEL float difference(const TermPair& x, const TermPair& y) {
  return (x.high - y.high) + (x.low - y.low);
}

template <BiasKind kKind>
inline constexpr bool kPatterned = kKind == BiasKind::kShownTable;

template <BiasKind kKind>
class HeadBias {
 public:
  ALIBI_KERNEL HeadBias(const DeviceAttention& a, int b, int h) {
    const std::int64_t head = static_cast<std::int64_t>(b) * a.heads + h;
    if constexpr (kKind == BiasKind::kSlopes) slope_ = a.slope(h);
    if constexpr (is_table(kKind)) {
      const std::int64_t start = static_cast<std::int64_t>(h) * a.table_length() + kTableBefore;
      table_ = a.table_HP + start;
      reach_ = a.table_reach_HP == nullptr ? nullptr : a.table_reach_HP + start;
    }
    if constexpr (kKind == BiasKind::kTerms) {
      terms_ = a.terms_BHS + head * a.keys;
      near_ = a.near_BHS + head * a.key_blocks() * kKeyBlock;
      least_ = a.least_BHN == nullptr ? nullptr : a.least_BHN + head * a.key_blocks();
    }
  }

  // What is kept of a row that is there.
  ALIBI_KERNEL TermPair term(int position) const {
    if constexpr (kKind == BiasKind::kTerms) return terms_[position];
    return {};
  }

  // A row's part. `first_key`: what `keys` of Tile::part are counted from, in block n.
  ALIBI_KERNEL float of_row(int position, const TermPair& term, int n, int first_key) const {
    if constexpr (kKind == BiasKind::kSlopes)
      return slope_ * static_cast<float>(first_key - position);
    if constexpr (kKind == BiasKind::kTerms) return difference(term, terms_[n * kKeyBlock]);
    return 0;
  }

  // Of a lane in a tile.
  struct Tile {
    const float* numbers;  // a table's, from the first row to the first key; terms', of that key
    float slope;
    // Of the row and the key so far behind the first ones.
    ALIBI_KERNEL float part(int rows, int keys) const {
      if constexpr (kKind == BiasKind::kSlopes) return slope * static_cast<float>(keys);
      if constexpr (is_table(kKind)) return numbers[rows - keys];
      return -numbers[keys];
    }
  };
  ALIBI_KERNEL Tile tile(int first_row_position, int first_key) const {
    if constexpr (is_table(kKind)) return {table_ + (first_row_position - first_key), 0};
    if constexpr (kKind == BiasKind::kTerms) return {near_ + first_key, 0};
    return {nullptr, slope_};
  }

  // For the skip test, with `last` the last key of block n - 1: no bias of the row for a key up to
  // it is larger. Slopes below 0 have no such bound, and 0 leaves nothing out.
  ALIBI_KERNEL bool falls() const { return kKind != BiasKind::kSlopes || slope_ > 0; }
  ALIBI_KERNEL float most_before(int position, const TermPair& term, int n) const {
    const int last = n * kKeyBlock - 1;
    if constexpr (is_table(kKind)) return reach_[position - last];
    if constexpr (kKind == BiasKind::kTerms) return difference(term, least_[n - 1]);
    return slope_ * static_cast<float>(last - position);
  }

 private:
  float slope_ = 0;
  const float *table_ = nullptr, *reach_ = nullptr;  // at distance 0
  const TermPair *terms_ = nullptr, *least_ = nullptr;
  const float* near_ = nullptr;
};

}  // namespace alibi
