#include "base/growing_memory.h"

#include <sys/mman.h>

#include <new>

namespace alibi {

GrowingMemory::~GrowingMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

void* GrowingMemory::grow(std::size_t bytes) {
  if (bytes <= bytes_) return data_;
  void* const larger = data_ == nullptr ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                        : ::mremap(data_, bytes_, bytes, MREMAP_MAYMOVE);
  if (larger == MAP_FAILED) throw std::bad_alloc();
  data_ = larger;
  bytes_ = bytes;
  return data_;
}

}  // namespace alibi
