// Work items over threads, and the two views of a tensor that kernels take.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "device/libtorch.h"

namespace alibi {

inline torch::Tensor raw_bytes(std::int64_t count) {
  return torch::empty({count}, torch::TensorOptions(torch::kByte));
}

inline std::uint16_t* bf16_data(const torch::Tensor& bf16) {
  return reinterpret_cast<std::uint16_t*>(bf16.data_ptr<at::BFloat16>());
}

inline void nothing() {}  // for threads that keep no state

// Runs item(i, scratch) for i = 0 .. items - 1, each by whichever thread is free first, with
// scratch_bytes of the thread's own; a thread calls finish() after its last one.
template <class Item>
void spread(std::int64_t items, std::int64_t scratch_bytes, void (*finish)(), const Item& item) {
  std::atomic<std::int64_t> next{0};
  const std::int64_t workers = std::min<std::int64_t>(items, at::get_num_threads());
  at::parallel_for(0, workers, 1, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t worker = first; worker < end; ++worker) {
      const torch::Tensor scratch = raw_bytes(scratch_bytes);
      const struct AtEnd {
        void (*finish)();
        ~AtEnd() { finish(); }
      } at_end{finish};  // after an exception too
      for (std::int64_t i = next++; i < items; i = next++) item(i, scratch.data_ptr());
    }
  });
}

}  // namespace alibi
