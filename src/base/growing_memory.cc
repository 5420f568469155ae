#include "base/growing_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace alibi {

GrowingMemory::~GrowingMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

void* GrowingMemory::grow(std::size_t bytes) {
  // Twice as much, where there are addresses: each move costs by what is moved.
  if (bytes > bytes_ && !try_bytes(std::max(bytes, 2 * bytes_)) && !try_bytes(bytes))
    throw std::bad_alloc();
  return data_;
}

bool GrowingMemory::try_bytes(std::size_t bytes) {
  void* const larger = data_ == nullptr ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                        : ::mremap(data_, bytes_, bytes, MREMAP_MAYMOVE);
  if (larger == MAP_FAILED) return false;
  data_ = larger;
  bytes_ = bytes;
  return true;
}

}  // namespace alibi
