// A step's gradients, summed over the ranks, each rank its share of them, and the parameters that
// the ranks have updated, back to all (ZeRO-1). Buckets of gradients travel, on a thread of their
// own, while backward makes the next ones ready.
//
// Bytes travel, nothing is added on the way: a rank adds what it receives in the tree of
// train/lane_sum.h, so that the sums are those of one process that computes all lanes. Where every
// rank owns all (distributed.reduce "fast") c10d sums, in an order of its own.
#pragma once

#include <condition_variable>
#include <future>
#include <mutex>
#include <vector>

#include "distributed/world.h"
#include "train/shards.h"

namespace alibi {

class GradientExchange {
 public:
  // `parameters` in the order of `shards`. All outlive it.
  GradientExchange(World& world, const Shards& shards,
                   const std::vector<torch::Tensor>& parameters);

  ~GradientExchange();  // waits for an exchange under way
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  // A step's sums: every rank calls begin(), then give() once for every parameter, in any order,
  // then finish(), which returns when all sums are here. Nobody uses the world meanwhile. A rank
  // that cannot give all (its memory ran out) leaves some out: the sums are then of no use, but all
  // ranks come to their end.
  void begin();
  // `gradient` is that of this rank's lanes.
  void give(std::size_t parameter, torch::Tensor gradient);
  bool is_given(std::size_t parameter) const { return given_[parameter]; }
  void finish();

  // Of what this rank owns, by parameter; flat slices where that is not the whole.
  const std::vector<torch::Tensor>& gradients() const { return gradients_; }

  // Square root of the sum of squares over all ranks' shares. The squares of a block of kShardBlock
  // elements are summed in fp64, then the blocks in order: the same bits whoever owns which.
  double norm() const;

  // Gives every rank what each has updated.
  void share_parameters();

 private:
  void sum_buckets();
  void end_giving(bool abandon);
  void sum_bucket(const std::vector<std::size_t>& bucket);
  void all_reduce_bucket(const std::vector<std::size_t>& bucket);
  // Makes the tensors of a bucket, one behind another in `flat`, this rank's gradients.
  void take_gradients(const std::vector<std::size_t>& bucket, const torch::Tensor& flat);
  void share_bucket(const std::vector<std::size_t>& bucket);
  // What a rank owns of a bucket's tensors, `whole` by parameter, one behind another.
  torch::Tensor gathered(const std::vector<torch::Tensor>& whole,
                         const std::vector<std::size_t>& bucket, int rank) const;
  std::int64_t owned(const std::vector<std::size_t>& bucket, int rank) const;

  bool owns_all() const { return shards_.ranks() == 1; }
  int owner() const { return owns_all() ? 0 : world_.rank(); }

  World& world_;
  const Shards& shards_;
  const std::vector<torch::Tensor>& parameters_;
  std::vector<std::size_t> bucket_of_;  // by parameter
  std::vector<torch::Tensor> gradients_;
  std::vector<bool> given_;
  std::mutex mutex_;  // of the two below
  std::condition_variable changed_;
  std::vector<std::size_t> awaited_;  // gradients, by bucket
  enum { kGiving, kGivenAll, kAbandoned } state_ = kGivenAll;
  std::future<void> work_;  // last: its thread works on all above
};

// Sums of squares, in fp64, of the blocks of kShardBlock elements of a contiguous tensor; the last
// block may be shorter. For the same elements the same bits at any number of threads.
std::vector<double> block_squares(const torch::Tensor& tensor);

}  // namespace alibi
