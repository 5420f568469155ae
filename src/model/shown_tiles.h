// What rules show of tiles of 64 queries by 64 keys, as maps that a device's kernels look up
// (DeviceAttention::shown_RMN): where a walk goes on, and the mask of a tile that is seen in part.
// Masks that are alike are kept once: a window has few.
//
// Letters: R rules, M blocks of queries, N blocks of keys.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/visible_keys.h"

namespace alibi {

struct ShownTiles {
  std::vector<std::int32_t> until_RMN;  // the last block up to n that is shown something; -1: none
  std::vector<std::int32_t> from_RNM;   // the first block of queries from m on that is; M: none
  std::vector<std::int32_t> shown_RMN;  // 0: all; -1: nothing; i > 0: what mask i - 1 says
  // 128 words each: bits of keys by query, then bits of queries by key. Order is in them.
  std::vector<std::uint64_t> masks;
};

// Of `queries` at the end of `keys`, of which those before are whole blocks. Without documents.
ShownTiles shown_tiles(std::span<const KeyRule> rules, std::int64_t queries, std::int64_t keys);

}  // namespace alibi
