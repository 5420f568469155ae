#include "model/stages.h"

#include <ATen/Parallel.h>

#include <atomic>
#include <exception>
#include <mutex>

#include "model/linear/spread.h"

namespace alibi {

void Stages::run(std::size_t count, void (*finish)()) {
  const int threads = at::get_num_threads();
  while (std::ssize(scratch_) < threads) scratch_.push_back(raw_bytes(scratch_bytes_));
  std::vector<std::atomic<std::int64_t>> next(count);
  std::atomic<std::size_t> joined{0};  // not OpenMP's number: a compiler without it has one thread
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  std::mutex first;
  const auto guarded = [&](const auto& work) {
    try {
      if (!failed) work();
    } catch (...) {
      const std::lock_guard lock(first);
      if (!failed) failure = std::current_exception();
      failed = true;
    }
  };
#pragma omp parallel num_threads(threads)
  {
    void* const scratch = scratch_[joined++].data_ptr();
    for (std::size_t s = 0; s < count; ++s) {
      const Stage& stage = stages_[s];
      guarded([&] {
        for (std::int64_t i = next[s]++; i < stage.items; i = next[s]++) stage.item(i, scratch);
      });
#pragma omp barrier
    }
    finish();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace alibi
