// Memory of a device or of this process. Peaks are per phase: reset, work, read.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "base/process_memory.h"
#include "device/tensor.h"

namespace alibi {

// Highest use since reset_peak_memory: peak_resident_bytes() on CPU, the allocator's peak on CUDA.
std::int64_t peak_memory_bytes(torch::Device device);
void reset_peak_memory(torch::Device device);  // silently without effect where the system refuses

// Whether memory ran out, the processor's or a device's.
bool is_out_of_memory(const std::exception& error);

// Runs `work`; false where memory ran out.
template <class Work>
bool fits_in_memory(const Work& work) {
  try {
    work();
    return true;
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    return false;
  }
}

// Whether a CUDA device, or a library on it, failed in another way. This process can do nothing
// more on it.
bool is_device_failure(const std::exception& error);

// What a device has free, and this process of it; on the CPU as above.
MemoryLimit memory_limit(torch::Device device);

}  // namespace alibi
