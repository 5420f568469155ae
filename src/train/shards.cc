#include "train/shards.h"

#include <algorithm>

namespace alibi {

Shards::Shards(const std::vector<std::int64_t>& sizes, int ranks, const std::vector<bool>& whole)
    : slices_(static_cast<std::size_t>(ranks), std::vector<Slice>(sizes.size())) {
  std::int64_t elements = 0;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (elements == 0) buckets_.emplace_back();
    buckets_.back().push_back(i);
    elements += sizes[i];
    if (elements >= bucket_elements(ranks)) elements = 0;
  }
  for (std::vector<std::size_t> bucket : buckets_) {
    if (!whole.empty()) std::erase_if(bucket, [&](std::size_t i) { return whole[i]; });
    divide(sizes, bucket);
  }
  if (!whole.empty()) give_whole(sizes, whole);
}

// In the order of exchange.
void Shards::give_whole(const std::vector<std::int64_t>& sizes, const std::vector<bool>& whole) {
  std::vector<std::int64_t> owned(slices_.size());
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (!whole[i]) continue;
    const auto least = std::min_element(owned.begin(), owned.end());
    *least += sizes[i];
    slices_[static_cast<std::size_t>(least - owned.begin())][i] = {0, sizes[i]};
  }
}

// Rank r ends at the block nearest below its share of the bucket's elements.
void Shards::divide(const std::vector<std::int64_t>& sizes,
                    const std::vector<std::size_t>& bucket) {
  std::int64_t total = 0, before = 0;
  for (const std::size_t parameter : bucket) total += sizes[parameter];
  for (const std::size_t parameter : bucket) {
    const std::int64_t size = sizes[parameter];
    std::int64_t first = 0;
    for (int rank = 0; rank < ranks(); ++rank) {
      const std::int64_t wanted = total * (rank + 1) / ranks() - before;
      std::int64_t end = std::clamp<std::int64_t>(wanted / kShardBlock * kShardBlock, first, size);
      if (rank + 1 == ranks() || wanted >= size) end = size;
      slices_[static_cast<std::size_t>(rank)][parameter] = {first, end - first};
      first = end;
    }
    before += size;
  }
}

}  // namespace alibi
