#include "train/lane_sum.h"

#include <bit>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/strings.h"

namespace alibi {
namespace {

bool may_share(std::int64_t lanes, std::int64_t ranks) {
  return ranks == 1 ||
         (lanes % ranks == 0 && std::has_single_bit(static_cast<std::uint64_t>(lanes / ranks)));
}

std::string possible_ranks(std::int64_t lanes) {
  std::vector<std::string> possible;
  for (std::int64_t ranks = 1; ranks <= lanes; ++ranks)
    if (may_share(lanes, ranks)) possible.push_back(std::to_string(ranks));
  return join(possible, ", ");
}

}  // namespace

void LaneSum::merge_last_two() {
  const torch::NoGradGuard guard;
  const Sum last = std::move(sums_.back());
  sums_.pop_back();
  Sum& sum = sums_.back();
  for (std::size_t i = 0; i < sum.tensors.size(); ++i) sum.tensors[i].add_(last.tensors[i]);
  sum.lanes += last.lanes;
}

void LaneSum::add(std::vector<torch::Tensor> tensors) {
  sums_.push_back({1, std::move(tensors)});
  while (sums_.size() > 1 && sums_[sums_.size() - 2].lanes == sums_.back().lanes) merge_last_two();
}

std::vector<torch::Tensor> LaneSum::take() {
  while (sums_.size() > 1) merge_last_two();
  ensure(!sums_.empty(), "a lane was added");
  std::vector<torch::Tensor> sum = std::move(sums_.back().tensors);
  sums_.clear();
  return sum;
}

torch::Tensor LaneSum::take(std::size_t i, torch::Tensor last) {
  const torch::NoGradGuard guard;
  for (auto sum = sums_.rbegin(); sum != sums_.rend(); ++sum) last = sum->tensors[i].add_(last);
  return last;
}

OwnLanes own_lanes(std::int64_t lanes, int rank, int ranks) {
  if (!may_share(lanes, ranks)) {
    throw usage_error("/batch/lanes",
                      cat(ranks, " processes cannot share ", lanes, " lanes, expected ",
                          possible_ranks(lanes), " processes"),
                      "start as many, or begin another run with more lanes");
  }
  return {rank * (lanes / ranks), lanes / ranks};
}

}  // namespace alibi
