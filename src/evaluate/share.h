// Processes that score one text together.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace alibi {

class World;

// What one of them does of it: whole batches, cut as one process cuts them, so that each loss has
// the bits that one process gives it.
struct ScoringShare {
  int part = 0, parts = 1;  // batches part, part + parts, ... are its own
  // Runs `work`, which leaves 0 in `numbers` what others fill, and adds theirs. None: it stays 0.
  using Complete =
      std::function<void(std::vector<float>& numbers, const std::function<void()>& work)>;
  Complete complete = {};

  std::function<void()> leave_if_failed = {};  // throws where other processes have

  bool owns(std::int64_t batch) const {
    if (leave_if_failed) leave_if_failed();
    return batch % parts == part;
  }
  void fill(std::vector<float>& numbers, const std::function<void()>& work) const {
    complete ? complete(numbers, work) : work();
  }
};

// The share of this rank. Where memory runs out on one rank, all throw std::bad_alloc; where one
// throws anything else, the others throw an Error that names it.
ScoringShare share_of(World& world);

// Each number was computed by one rank and is 0 on the others, so that any order of additions is
// exact.
void sum_over_ranks(std::vector<float>& numbers, World& world);

}  // namespace alibi
