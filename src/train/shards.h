// Which rank updates which elements of which parameter (ZeRO-1: Rajbhandari et al. 2020, section
// 5): its optimizer state is kept there alone.
//
// Parameters are exchanged in buckets, in reverse order, as backward makes their gradients ready.
// Each rank owns one run of every bucket, so that in every exchange all ranks send and receive.
// Cuts lie at multiples of kShardBlock elements of a parameter: an element's update has the same
// bits wherever it is made, and the squares of a block are always summed by one rank.
//
// Parameters whose update reads them whole (matrices of Muon) are not cut. Each goes to the rank
// that owns the fewest elements of such so far: by buckets, one of a single matrix would always go
// to the same rank.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace alibi {

inline constexpr std::int64_t kShardBlock = 4096;  // elements

// At least; the last one may be smaller. With many ranks what each sends to each stays 256 KiB, or
// the time of a message would count.
constexpr std::int64_t bucket_elements(int ranks) {
  return std::max(std::int64_t{1} << 20, std::int64_t{ranks} << 16);
}

struct Slice {
  std::int64_t first = 0;  // element of the flattened parameter
  std::int64_t count = 0;
  bool operator==(const Slice&) const = default;
};

class Shards {
 public:
  // `sizes`: elements of each parameter; `whole`: those that are not cut, empty where all may be.
  // A world of one owns whole parameters.
  Shards(const std::vector<std::int64_t>& sizes, int ranks, const std::vector<bool>& whole = {});

  int ranks() const { return static_cast<int>(slices_.size()); }
  // Indices of parameters, highest first.
  const std::vector<std::vector<std::size_t>>& buckets() const { return buckets_; }
  Slice slice(int rank, std::size_t parameter) const {
    return slices_[static_cast<std::size_t>(rank)][parameter];
  }

 private:
  void divide(const std::vector<std::int64_t>& sizes, const std::vector<std::size_t>& bucket);
  void give_whole(const std::vector<std::int64_t>& sizes, const std::vector<bool>& whole);

  std::vector<std::vector<std::size_t>> buckets_;
  std::vector<std::vector<Slice>> slices_;  // by rank, then by parameter
};

}  // namespace alibi
