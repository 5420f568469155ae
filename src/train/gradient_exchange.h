// A step's gradients, summed over the ranks, each rank its share of them, and the parameters that
// the ranks have updated, back to all (ZeRO-1).
//
// Bytes travel, nothing is added on the way: a rank adds what it receives in the tree of
// train/lane_sum.h, so that the sums are those of one process that computes all lanes.
#pragma once

#include <vector>

#include "distributed/world.h"
#include "train/shards.h"

namespace alibi {

class GradientExchange {
 public:
  // `parameters` in the order of `shards`. All outlive it.
  GradientExchange(World& world, const Shards& shards,
                   const std::vector<torch::Tensor>& parameters);

  // Sums the parameters' gradients over the ranks; every rank calls it.
  void sum();
  // Of what this rank owns, by parameter; flat slices where that is not the whole.
  const std::vector<torch::Tensor>& gradients() const { return gradients_; }

  // Square root of the sum of squares over all ranks' shares. With `lanes` > 1 the squares of a
  // block of kShardBlock elements are summed in fp64, then the blocks in order: the same bits
  // whoever owns which. One lane: gradient_norm(), LibTorch's sums.
  double norm(std::int64_t lanes) const;

  // Gives every rank what each has updated.
  void share_parameters();

 private:
  void sum_bucket(const std::vector<std::size_t>& bucket);
  void share_bucket(const std::vector<std::size_t>& bucket);
  // What a rank owns of a bucket's tensors, `whole` by parameter, one behind another.
  torch::Tensor gathered(const std::vector<torch::Tensor>& whole,
                         const std::vector<std::size_t>& bucket, int rank) const;
  std::int64_t owned(const std::vector<std::size_t>& bucket, int rank) const;

  World& world_;
  const Shards& shards_;
  const std::vector<torch::Tensor>& parameters_;
  std::vector<torch::Tensor> gradients_;
};

// Sums of squares, in fp64, of the blocks of kShardBlock elements of a contiguous tensor; the last
// block may be shorter. For the same elements the same bits at any number of threads.
std::vector<double> block_squares(const torch::Tensor& tensor);

}  // namespace alibi
