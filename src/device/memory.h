// Memory of this process, as the system counts it. Peaks are per phase: reset, work, read.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>

#include "device/tensor.h"

namespace alibi {

std::int64_t resident_bytes();  // VmRSS; 0 where /proc is missing

// Highest use since reset_peak_memory: VmHWM on CPU, the allocator's peak on CUDA.
std::int64_t peak_memory_bytes(torch::Device device);
void reset_peak_memory(torch::Device device);  // silently without effect where the system refuses

// Keeps memory that is freed for the next step instead of giving it back to the system, whose fresh
// zeroed pages cost more than the arithmetic on them. Once, before the first tensor.
void keep_freed_memory();

// Gives back what is free all the same: between two phases of which the first took more.
void give_back_freed_memory();

// From here on, blocks of 1 MiB and more go back to the system when they are freed: their sizes
// differ from moment to moment where blocks are recomputed, and the holes they leave in a heap
// would hold up to three times what is in use. Costs a tenth to a third of the speed.
void return_large_blocks();

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

// How much memory this process may take: the least of what the machine has free, what its control
// groups allow and what `ulimit -v` leaves. A container's limit does not show in the machine's
// memory, and crossing it is no failed allocation but SIGKILL.
struct MemoryLimit {
  std::int64_t bytes = 0;  // for this process in all, what it holds already included
  std::string source;      // "memory of this machine", "control group memory.max", "ulimit -v"
};

// `root` holds proc/ and sys/; another one is for tests.
MemoryLimit memory_limit(const std::filesystem::path& root = "/");

// What a device has in all; on the CPU as above.
MemoryLimit memory_limit(torch::Device device);

}  // namespace alibi
