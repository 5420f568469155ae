#include "train/gradient_exchange.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "device/device.h"
#include "device/libtorch.h"
#include "train/lane_sum.h"
#include "train/optimizer/optimizer.h"

namespace alibi {
namespace {

// Eight running sums, as wide as a register: one order of additions whatever the compiler does.
double squares(const float* values, std::int64_t count) {
  constexpr std::int64_t kSums = 8;
  double sums[kSums] = {};
  std::int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (std::int64_t k = 0; k < kSums; ++k) {
      const double value = values[i + k];
      sums[k] += value * value;  // exact product of two floats: fused or not, the same
    }
  }
  for (std::int64_t k = 0; i < count; ++i, ++k) sums[k] += double{values[i]} * values[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

std::int64_t blocks_of(std::int64_t elements) { return (elements + kShardBlock - 1) / kShardBlock; }

torch::Tensor space_for(std::int64_t elements, const torch::Device& device) {
  return torch::empty({elements}, torch::dtype(torch::kFloat).device(device));
}

}  // namespace

std::vector<double> block_squares(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().to(torch::kCPU).flatten();
  const std::int64_t count = flat.numel();
  std::vector<double> sums(static_cast<std::size_t>(blocks_of(count)));
  const float* values = flat.const_data_ptr<float>();
  at::parallel_for(0, std::ssize(sums), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * kShardBlock;
      sums[static_cast<std::size_t>(block)] =
          squares(values + first, std::min(kShardBlock, count - first));
    }
  });
  return sums;
}

GradientExchange::GradientExchange(World& world, const Shards& shards,
                                   const std::vector<torch::Tensor>& parameters)
    : world_(world),
      shards_(shards),
      parameters_(parameters),
      bucket_of_(parameters.size()),
      given_(parameters.size()) {
  for (std::size_t bucket = 0; bucket < shards.buckets().size(); ++bucket)
    for (const std::size_t i : shards.buckets()[bucket]) bucket_of_[i] = bucket;
}

GradientExchange::~GradientExchange() { end_giving(/*abandon=*/true); }

void GradientExchange::begin() {
  gradients_.assign(parameters_.size(), {});
  given_.assign(parameters_.size(), false);
  awaited_.clear();
  for (const auto& bucket : shards_.buckets()) awaited_.push_back(bucket.size());
  if (world_.is_alone()) return;
  state_ = kGiving;
  work_ = std::async(std::launch::async, [this] { sum_buckets(); });
}

void GradientExchange::give(std::size_t parameter, torch::Tensor gradient) {
  ensure(gradient.defined() && !given_[parameter], "a parameter has one gradient");
  gradients_[parameter] = std::move(gradient);
  given_[parameter] = true;
  const std::lock_guard lock(mutex_);
  if (--awaited_[bucket_of_[parameter]] == 0) changed_.notify_one();
}

void GradientExchange::finish() {
  end_giving(/*abandon=*/false);
  if (work_.valid()) work_.get();
}

void GradientExchange::end_giving(bool abandon) {
  const std::lock_guard lock(mutex_);
  state_ = abandon ? kAbandoned : kGivenAll;
  changed_.notify_one();
}

// Buckets go in one order on all ranks, whichever is ready first.
void GradientExchange::sum_buckets() {
  use_one_thread_here();
  for (std::size_t bucket = 0; bucket < awaited_.size(); ++bucket) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return awaited_[bucket] == 0 || state_ != kGiving; });
      if (state_ == kAbandoned) return;
    }
    if (owns_all())
      all_reduce_bucket(shards_.buckets()[bucket]);
    else
      sum_bucket(shards_.buckets()[bucket]);
  }
}

std::int64_t GradientExchange::owned(const std::vector<std::size_t>& bucket, int rank) const {
  std::int64_t elements = 0;
  for (const std::size_t i : bucket) elements += shards_.slice(rank, i).count;
  return elements;
}

torch::Tensor GradientExchange::gathered(const std::vector<torch::Tensor>& whole,
                                         const std::vector<std::size_t>& bucket, int rank) const {
  std::vector<torch::Tensor> slices;
  for (const std::size_t i : bucket) {
    const Slice slice = shards_.slice(rank, i);
    slices.push_back(whole[i].defined() ? sliced(whole[i], slice).flatten()
                                        : torch::zeros({slice.count}, parameters_[i].options()));
  }
  return torch::cat(slices).to(world_.transport());
}

void GradientExchange::take_gradients(const std::vector<std::size_t>& bucket,
                                      const torch::Tensor& flat) {
  const torch::Tensor mine = flat.to(parameters_[bucket.front()].device());
  std::int64_t at = 0;
  for (const std::size_t i : bucket) {
    const std::int64_t count = shards_.slice(owner(), i).count;
    gradients_[i] = mine.narrow(0, at, count);
    if (count == parameters_[i].numel()) gradients_[i] = gradients_[i].view_as(parameters_[i]);
    at += count;
  }
}

void GradientExchange::all_reduce_bucket(const std::vector<std::size_t>& bucket) {
  const torch::NoGradGuard guard;
  torch::Tensor flat = gathered(gradients_, bucket, 0);
  world_.all_reduce(flat);
  take_gradients(bucket, flat);
}

void GradientExchange::sum_bucket(const std::vector<std::size_t>& bucket) {
  const torch::NoGradGuard guard;
  const int ranks = world_.size(), me = world_.rank();
  std::vector<torch::Tensor> to, from;
  for (int rank = 0; rank < ranks; ++rank) {
    to.push_back(gathered(gradients_, bucket, rank));
    from.push_back(rank == me ? to.back() : space_for(owned(bucket, me), world_.transport()));
  }
  world_.exchange(to, from);
  LaneSum sum;
  for (torch::Tensor& share : from) sum.add({std::move(share)});
  take_gradients(bucket, sum.take().front());
}

double GradientExchange::norm() const {
  std::vector<std::vector<double>> own;
  std::vector<double> flat;
  for (const torch::Tensor& gradient : gradients_) {
    own.push_back(block_squares(gradient));
    flat.insert(flat.end(), own.back().begin(), own.back().end());
  }
  std::size_t most = 0;  // every rank gives as many numbers as the one with the most
  for (int rank = 0; rank < shards_.ranks(); ++rank) {
    std::size_t blocks = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      blocks += static_cast<std::size_t>(blocks_of(shards_.slice(rank, i).count));
    most = std::max(most, blocks);
  }
  flat.resize(most);
  std::vector<std::vector<double>> all{flat};
  if (!owns_all()) all = world_.gather(flat);
  std::vector<std::size_t> at(all.size());
  double sum = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    for (std::size_t rank = 0; rank < all.size(); ++rank) {  // slices of a parameter lie by rank
      const std::int64_t blocks = blocks_of(shards_.slice(static_cast<int>(rank), i).count);
      for (std::int64_t block = 0; block < blocks; ++block) sum += all[rank][at[rank]++];
    }
  }
  return std::sqrt(sum);
}

void GradientExchange::share_parameters() {
  if (owns_all()) return;
  for (const auto& bucket : shards_.buckets()) share_bucket(bucket);
}

void GradientExchange::share_bucket(const std::vector<std::size_t>& bucket) {
  const torch::NoGradGuard guard;
  const int ranks = world_.size(), me = world_.rank();
  std::vector<torch::Tensor> pieces;
  for (int rank = 0; rank < ranks; ++rank) {
    pieces.push_back(rank == me ? gathered(parameters_, bucket, me)
                                : space_for(owned(bucket, rank), world_.transport()));
  }
  world_.share(pieces);
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == me) continue;
    std::int64_t at = 0;
    for (const std::size_t i : bucket) {
      const Slice slice = shards_.slice(rank, i);
      parameters_[i]
          .detach()
          .flatten()
          .narrow(0, slice.first, slice.count)
          .copy_(pieces[static_cast<std::size_t>(rank)].narrow(0, at, slice.count));
      at += slice.count;
    }
  }
}

}  // namespace alibi
