// Sums over lanes in a fixed binary tree: neighbours are added in pairs, then neighbours of the
// sums, and an odd last one is passed up. What 2^n lanes side by side contribute is a subtree, so a
// rank that holds such lanes may sum them by itself, and the bits are those of one process that
// holds all.
#pragma once

#include <vector>

#include "device/tensor.h"

namespace alibi {

class LaneSum {
 public:
  // The next lane's tensors; they are written into and kept. At most log2(lanes) + 1 sets are held.
  void add(std::vector<torch::Tensor> tensors);
  // The sum over all lanes added; starts anew.
  std::vector<torch::Tensor> take();
  // Tensor `i` of the sum over the lanes added and one more, of which this tensor is `last`. Once
  // for each, then clear().
  torch::Tensor take(std::size_t i, torch::Tensor last);
  void clear() { sums_.clear(); }

 private:
  struct Sum {
    std::int64_t lanes;
    std::vector<torch::Tensor> tensors;
  };
  void merge_last_two();

  std::vector<Sum> sums_;  // of fewer and fewer lanes
};

// Lanes first .. first + count - 1 of all that a rank computes.
struct OwnLanes {
  std::int64_t first = 0;
  std::int64_t count = 1;
};

// Throws Error (exit code 2) unless `ranks` is 1 or divides `lanes` into powers of two.
OwnLanes own_lanes(std::int64_t lanes, int rank, int ranks);

}  // namespace alibi
