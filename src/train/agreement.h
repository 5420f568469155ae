// What the ranks of a run decide together. Each knows something alone (a signal came, memory ran
// out); it travels with the numbers of a step, so that all do the same at the same step.
#pragma once

#include <optional>
#include <vector>

#include "distributed/world.h"

namespace alibi {

class Agreement {
 public:
  explicit Agreement(World& world) : world_(world) {}  // outlives it

  // The signal that asks to stop, 0 for none: of this process alone, or the one that all ranks have
  // known since they agreed last.
  int stop_signal() const;

  // What all ranks gave, one behind another by rank; nothing where one of them has nothing to give.
  // Every rank gives `count` numbers or nothing.
  std::optional<std::vector<double>> gather(const std::optional<std::vector<double>>& mine,
                                            std::size_t count);
  // Whether it holds on every rank.
  bool everywhere(bool here);
  // What the first rank says.
  bool as_first(bool here);
  std::int64_t least(std::int64_t here);

  World& world() { return world_; }

 private:
  World& world_;
  int stop_ = 0;
};

}  // namespace alibi
