// Memory of this process, as the system counts it. Peaks are per phase: reset, work, read.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>

#include "device/tensor.h"

namespace alibi {

// What a file like /proc/self/status or /proc/meminfo says of `key`, which it counts in kB; 0 where
// file or key is missing.
std::int64_t proc_bytes(const std::filesystem::path& file, const std::string& key);

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

// Whether what was thrown says that memory did not last, the processor's or a device's.
bool is_out_of_memory(const std::exception& error);

// Runs `work`; false where its memory did not last.
template <class Work>
bool memory_lasts(const Work& work) {
  try {
    work();
    return true;
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    return false;
  }
}

// Whether it says that a CUDA device, or a library on it, failed in another way. This process can
// do nothing more on it.
bool is_device_failure(const std::exception& error);

}  // namespace alibi
