// Work in stages for one team of threads: each stage begins when the one before it is done. One
// parallel region for all of them, where one for each would cost more than the work of a stage.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "device/tensor.h"

namespace alibi {

class Stages {
 public:
  // Each thread has scratch_bytes of its own.
  explicit Stages(std::int64_t scratch_bytes) : scratch_bytes_(scratch_bytes) {}

  using Item = std::function<void(std::int64_t item, void* scratch)>;

  // item(i, scratch) for i = 0 .. items - 1, each by whichever thread is free first.
  void add(std::int64_t items, Item item) { stages_.push_back({items, std::move(item)}); }
  std::size_t size() const { return stages_.size(); }
  // The first `count` stages; a thread calls finish() after its last item. Rethrows the first
  // exception of an item, without the stages behind it.
  void run(std::size_t count, void (*finish)());

 private:
  struct Stage {
    std::int64_t items;
    Item item;
  };
  std::int64_t scratch_bytes_;
  std::vector<torch::Tensor> scratch_;  // by thread
  std::vector<Stage> stages_;
};

}  // namespace alibi
