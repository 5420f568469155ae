// Maps of shown tiles against the formula of visible keys (VisibleKeys::hidden), key by key.
#include "model/shown_tiles.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "kernels/device_attention.h"
#include "model/key_rules.h"

namespace alibi {
namespace {

class Formula {
 public:
  Formula(const std::shared_ptr<const KeyRules>& rules, std::int64_t queries, std::int64_t keys) {
    VisibleKeys visible;
    visible.rules = rules;
    shown_ = visible.hidden({queries, keys, 0, queries, keys}, torch::kCPU).logical_not()[0];
  }
  // Whether rule r shows query i, of 0 .. queries - 1, key j.
  bool shows(std::int64_t r, std::int64_t i, std::int64_t j) const {
    return shown_[r][i][j].item<bool>();
  }
  // How many keys of tile (m, n) are shown, and how many are there.
  std::pair<int, int> count(std::int64_t r, std::int64_t m, std::int64_t n) const {
    const auto tile = shown_[r]
                          .slice(0, m * kKeyBlock, (m + 1) * kKeyBlock)
                          .slice(1, n * kKeyBlock, (n + 1) * kKeyBlock);
    return {tile.sum().item<int>(), static_cast<int>(tile.numel())};
  }

 private:
  torch::Tensor shown_;  // (R, T, S)
};

void expect_maps(const std::vector<KeyParts>& parts, std::int64_t queries, std::int64_t keys) {
  SCOPED_TRACE(cat(parts.size(), " rules, ", queries, " of ", keys));
  const auto rules = std::make_shared<const KeyRules>(parts);
  const Formula formula(rules, queries, keys);
  const ShownTiles tiles = shown_tiles(rules->rules(), queries, keys);
  const std::int64_t blocks_m = (queries + kKeyBlock - 1) / kKeyBlock,
                     blocks_n = (keys + kKeyBlock - 1) / kKeyBlock;
  const auto count = std::ssize(parts) * blocks_m * blocks_n;
  ASSERT_EQ(std::ssize(tiles.shown_RMN), count);
  ASSERT_EQ(std::ssize(tiles.until_RMN), count);
  ASSERT_EQ(std::ssize(tiles.from_RNM), count);
  const auto at = [](const auto& numbers, std::int64_t i) {
    return numbers[static_cast<std::size_t>(i)];
  };
  for (std::int64_t r = 0; r < std::ssize(parts); ++r) {
    std::vector<std::int64_t> next(static_cast<std::size_t>(blocks_n), blocks_m);
    for (std::int64_t m = blocks_m - 1; m >= 0; --m) {
      std::int64_t last = -1;
      for (std::int64_t n = 0; n < blocks_n; ++n) {
        const std::int64_t place = (r * blocks_m + m) * blocks_n + n;
        const auto [some, all] = formula.count(r, m, n);
        const std::int32_t shown = at(tiles.shown_RMN, place);
        if (some > 0) last = n, next[static_cast<std::size_t>(n)] = m;
        ASSERT_EQ(at(tiles.until_RMN, place), last) << r << " " << m << " " << n;
        ASSERT_EQ(at(tiles.from_RNM, (r * blocks_n + n) * blocks_m + m), at(next, n));
        ASSERT_EQ(shown == -1, some == 0);
        if (shown == 0) {  // a short tile may have a mask of ones
          ASSERT_EQ(some, all);
        }
        if (shown <= 0) continue;
        const std::int64_t mask = (shown - 1) * 2 * kKeyBlock;
        for (std::int64_t i = 0; i < kKeyBlock; ++i)
          for (std::int64_t j = 0; j < kKeyBlock; ++j) {
            const std::int64_t query = m * kKeyBlock + i, key = n * kKeyBlock + j;
            if (query >= queries || key >= keys) continue;
            const bool expected = formula.shows(r, query, key);
            ASSERT_EQ(at(tiles.masks, mask + i) >> j & 1, expected) << i << " " << j;
            ASSERT_EQ(at(tiles.masks, mask + kKeyBlock + j) >> i & 1, expected) << i << " " << j;
          }
      }
    }
  }
}

// Seen failing with the rules' first tiles in the place of each rule's own.
TEST(ShownTiles, AreThoseOfTheFormula) {
  const KeyParts window{.window = 70}, far{.window = 20, .stride = 90}, segments{.segment = 100},
      columns{.segment = 40, .period = 50, .columns = 3}, first{.window = 9, .global = 5},
      dilated{.window = 3, .dilation = 37};
  expect_maps({window}, 200, 200);
  expect_maps({first, far, segments}, 190, 190);
  expect_maps({columns, dilated, window}, 130, 258);  // behind two blocks of a cache
}

TEST(ShownTiles, MasksThatAreAlikeAreKeptOnce) {
  const KeyRules rules(std::vector<KeyParts>{{.window = 64}});
  const ShownTiles few = shown_tiles(rules.rules(), 256, 256),
                   many = shown_tiles(rules.rules(), 1024, 1024);
  EXPECT_EQ(few.masks.size(), many.masks.size());
  EXPECT_EQ(few.masks.size(), 2U * 2 * kKeyBlock) << "the diagonal's and the one before it";
}

}  // namespace
}  // namespace alibi
