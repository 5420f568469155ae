// The walk over key blocks, its masks and what it calls whole, against the description word by
// word, for descriptions that are drawn.
#include "kernels/visible_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/attention_blocks.h"

namespace alibi {
namespace {

struct Description {
  explicit Description(unsigned seed) : random(seed) {
    TiledAttention& a = attention;
    const std::int64_t queries = draw(1, 300);
    past = draw(0, 1) == 0 ? 64 * draw(0, 3) : draw(1, 200);
    a.sizes = {.sequences = 1,
               .heads = 1,
               .key_value_heads = 1,
               .queries = queries,
               .keys = queries + past,
               .head_width = 8,
               .bias = {}};
    KeyParts& parts = rule.parts;
    const auto some = [this](std::int64_t most) { return draw(0, 3) == 0 ? draw(1, most) : 0; };
    if (draw(0, 1) == 0) parts.window = draw(1, 250);
    if (parts.window > 0 && draw(0, 2) == 0) parts.dilation = draw(2, 200);
    parts.segment = some(250);
    parts.global = some(100);
    parts.stride = some(250);
    parts.period = some(250);
    parts.columns = parts.period > 0 ? draw(1, parts.period) : 0;
    if (draw(0, 2) == 0) add_documents();
    if (draw(0, 2) == 0 || parts.window + parts.segment == 0) add_list();
    if (draw(0, 9) == 0) rule = {};
    a.rules = &rule;
  }
  Description(const Description&) = delete;  // points into itself
  Description& operator=(const Description&) = delete;

  std::int64_t draw(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution(least, most)(random);
  }

  void add_documents() {
    const TiledAttention& a = attention;
    const std::int64_t length = draw(5, 150);
    for (std::int64_t t = 0; t < a.sizes.queries; ++t) {
      const std::int64_t position = a.sizes.keys - a.sizes.queries + t;
      starts.push_back(position - position % length);
    }
    attention.first_BT = starts.data();
  }

  void add_list() {
    begin = {0};
    for (std::int64_t row = 0; row <= attention.sizes.keys / 64; ++row) {
      for (std::int64_t block = 0; block <= row; ++block)
        if (block == row || draw(0, 2) == 0) blocks.push_back(block);
      begin.push_back(std::ssize(blocks));
    }
    rule.list = {begin.data(), blocks.data(), std::ssize(begin) - 1};
  }

  bool sees(std::int64_t t, std::int64_t j) const {
    const TiledAttention& a = attention;
    const std::int64_t i = a.sizes.keys - a.sizes.queries + t;
    const std::int64_t first = starts.empty() ? 0 : starts[static_cast<std::size_t>(t)];
    if (j > i || j < first) return false;
    const KeyParts& p = rule.parts;
    const std::int64_t d = i - j;
    if (p == KeyParts() && !rule.list.given()) return true;
    if (d < p.window * p.dilation && d % p.dilation == 0) return true;
    if (p.stride > 0 && d % p.stride == 0) return true;
    if (p.segment > 0 && i / p.segment == j / p.segment) return true;
    if (p.columns > 0 && j % p.period >= p.period - p.columns) return true;
    if (j - first < p.global) return true;
    if (!rule.list.given()) return false;
    const auto at = [&](std::int64_t row) {
      return blocks.begin() + begin[static_cast<std::size_t>(row)];
    };
    return std::find(at(i / 64), at(i / 64 + 1), j / 64) != at(i / 64 + 1);
  }

  int parts() const {
    const KeyParts& p = rule.parts;
    return (p.window > 0) + (p.segment > 0) + (p.global > 0) + (p.stride > 0) + (p.columns > 0) +
           (rule.list.given() ? 1 : 0);
  }
  // Documents may leave a walk more than it needs, as do lists whose rows are not those of blocks.
  bool walk_is_exact() const { return starts.empty() && (begin.empty() || past % kTile == 0); }

  std::mt19937 random;
  KeyRule rule;
  TiledAttention attention;
  std::int64_t past = 0;
  std::vector<std::int64_t> starts, begin, blocks;
};

std::vector<bool> walked(const TiledAttention& a, const BlockPlace& place) {
  std::vector<bool> blocks(static_cast<std::size_t>(a.key_blocks()));
  for (std::int64_t j = visible_until(a, place, place.last_block); j >= 0;
       j = visible_until(a, place, j - 1))
    blocks[static_cast<std::size_t>(j)] = true;
  return blocks;
}

// Seen failing with a list whose column is taken from the first key of a block, and with a window
// that is one key longer.
TEST(VisibleKeys, AreWalkedOverAsDescribed) {
  for (unsigned seed = 0; seed < 800; ++seed) {
    const Description d(seed);
    const TiledAttention& a = d.attention;
    SCOPED_TRACE(seed);
    for (std::int64_t n = 0; n < a.query_blocks(); ++n) {
      const BlockPlace place = block_place(a, 0, n);
      const std::vector<bool> blocks = walked(a, place);
      for (std::int64_t j = 0; j < a.key_blocks(); ++j) {
        const TileMask mask = block_mask(a, place, j), other = transposed(mask);
        std::int64_t seen = 0;
        for (int r = 0; r < kTile; ++r) {
          for (int c = 0; c < kTile; ++c) {
            const bool real = r < place.rows && c < a.keys_of(j);
            const bool expected = real && d.sees(place.first_row + r, a.first_key(j) + c);
            ASSERT_EQ((mask.rows[r] >> c & 1) != 0, expected)
                << n << ", " << j << ": " << r << ", " << c;
            ASSERT_EQ((other.rows[c] >> r & 1) != 0, expected);
            seen += expected ? 1 : 0;
          }
        }
        const bool walks = blocks[static_cast<std::size_t>(j)], whole = sees_all_of(a, place, j);
        EXPECT_TRUE(walks || seen == 0) << n << ", " << j;
        EXPECT_TRUE(!whole || seen == kTile * kTile) << n << ", " << j;
        const bool plain = d.starts.empty() && d.parts() == 1 && place.rows == kTile;
        EXPECT_TRUE(!plain || whole || seen < kTile * kTile) << n << ", " << j;
        EXPECT_EQ(walks, sees_some_of(a, place, j)) << n << ", " << j;
        EXPECT_TRUE(!d.walk_is_exact() || !walks || seen > 0) << n << ", " << j;
      }
    }
  }
}

}  // namespace
}  // namespace alibi
