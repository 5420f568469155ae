#include "model/shown_tiles.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "kernels/attention_blocks.h"

namespace alibi {
namespace {

class Tiles {
 public:
  Tiles(std::span<const KeyRule> rules, std::int64_t queries, std::int64_t keys) {
    attention_.sizes = {.sequences = 1,
                        .heads = 1,
                        .key_value_heads = 1,
                        .queries = queries,
                        .keys = keys,
                        .bias = {}};
    ensure(attention_.missing_keys() == 0, "the first query stands at a whole block");
    for (const KeyRule& rule : rules) add(rule);
  }

  ShownTiles tiles;

 private:
  void add(const KeyRule& rule) {
    attention_.rules = &rule;
    const std::int64_t keys = attention_.key_blocks(), queries = attention_.query_blocks();
    const auto first = std::ssize(tiles.shown_RMN);
    tiles.shown_RMN.resize(static_cast<std::size_t>(first + queries * keys), -1);
    for (std::int64_t m = 0; m < queries; ++m) walk(m, first + m * keys);
    const auto shown = [&](std::int64_t m, std::int64_t n) {
      return tiles.shown_RMN[static_cast<std::size_t>(first + m * keys + n)] >= 0;
    };
    for (std::int64_t m = 0; m < queries; ++m) {
      std::int64_t last = -1;
      for (std::int64_t n = 0; n < keys; ++n)
        tiles.until_RMN.push_back(static_cast<std::int32_t>(last = shown(m, n) ? n : last));
    }
    for (std::int64_t n = 0; n < keys; ++n) {
      std::int64_t next = queries;
      for (std::int64_t m = queries - 1; m >= 0; --m)
        tiles.from_RNM.push_back(static_cast<std::int32_t>(next = shown(m, n) ? m : next));
      std::reverse(tiles.from_RNM.end() - queries, tiles.from_RNM.end());
    }
  }

  // `row`: of query block m's tiles.
  void walk(std::int64_t m, std::int64_t row) {
    const BlockPlace place = block_place(attention_, 0, m);
    for (std::int64_t n = visible_until(attention_, place, place.last_block); n >= 0;
         n = visible_until(attention_, place, n - 1)) {
      const bool all = sees_all_of(attention_, place, n);
      tiles.shown_RMN[static_cast<std::size_t>(row + n)] =
          all ? 0 : number_of(block_mask(attention_, place, n));
    }
  }

  std::int32_t number_of(const TileMask& mask) {
    std::array<std::uint64_t, kTile> rows;
    std::copy_n(mask.rows, kTile, rows.begin());
    const auto [known, is_new] = numbers_.try_emplace(rows, std::ssize(numbers_) + 1);
    if (is_new) {
      const TileMask by_key = transposed(mask);
      tiles.masks.insert(tiles.masks.end(), rows.begin(), rows.end());
      tiles.masks.insert(tiles.masks.end(), by_key.rows, by_key.rows + kTile);
    }
    return static_cast<std::int32_t>(known->second);
  }

  TiledAttention attention_;
  std::map<std::array<std::uint64_t, kTile>, std::int64_t> numbers_;
};

}  // namespace

ShownTiles shown_tiles(std::span<const KeyRule> rules, std::int64_t queries, std::int64_t keys) {
  return Tiles(rules, queries, keys).tiles;
}

}  // namespace alibi
