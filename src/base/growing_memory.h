// Memory that grows without being copied: the system gives the same pages another address. What was
// not written yet takes addresses only.
#pragma once

#include <cstddef>

namespace alibi {

class GrowingMemory {
 public:
  GrowingMemory() = default;
  ~GrowingMemory();
  GrowingMemory(const GrowingMemory&) = delete;
  GrowingMemory& operator=(const GrowingMemory&) = delete;

  // At least so many bytes, of which what was there stays and the rest is 0. Addresses given before
  // are no longer valid. Throws std::bad_alloc.
  void* grow(std::size_t bytes);
  std::size_t bytes() const { return bytes_; }

 private:
  bool try_bytes(std::size_t bytes);

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace alibi
