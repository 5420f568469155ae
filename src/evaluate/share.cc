#include "evaluate/share.h"

#include <array>
#include <new>

#include "device/libtorch.h"
#include "device/memory.h"
#include "distributed/world.h"

namespace alibi {

ScoringShare share_of(World& world) {
  if (world.is_alone()) return {};
  const auto complete = [&world](std::vector<float>& numbers, const std::function<void()>& work) {
    bool fits = true;
    world.while_others_wait([&] { fits = fits_in_memory(work); });
    const std::array<double, 1> mine = {fits ? 1.0 : 0.0};
    for (const auto& theirs : world.gather(mine))
      if (theirs[0] == 0) throw std::bad_alloc();
    sum_over_ranks(numbers, world);
  };
  return {world.rank(), world.size(), complete, [&world] { world.leave_if_failed_elsewhere(); }};
}

void sum_over_ranks(std::vector<float>& numbers, World& world) {
  if (world.is_alone()) return;
  torch::Tensor all = torch::from_blob(numbers.data(), {std::ssize(numbers)}, torch::kFloat);
  world.all_reduce(all);
}

}  // namespace alibi
