// Memory of this process: what the system counts, what it allows, and when freed memory goes back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace alibi {

std::int64_t resident_bytes();       // VmRSS; 0 where /proc is missing
std::int64_t peak_resident_bytes();  // VmHWM, since reset_peak_resident_bytes()
void reset_peak_resident_bytes();    // silently without effect where the system refuses

// Keeps memory that is freed for the next step instead of giving it back to the system, whose fresh
// zeroed pages cost more than the arithmetic on them. Once, before the first tensor.
void keep_freed_memory();

// Gives back what is free all the same: between two phases of which the first took more.
bool give_back_freed_memory();  // whether there was any

// From here on, blocks of 1 MiB and more go back to the system when they are freed: their sizes
// differ from moment to moment where blocks are recomputed, and the holes they leave in a heap
// would hold up to three times what is in use. Costs a tenth to a third of the speed.
void return_large_blocks();

// How much memory this process may take: the least of what the machine has free, what its control
// groups allow and what `ulimit -v` leaves. A container's limit does not show in the machine's
// memory, and crossing it is no failed allocation but SIGKILL.
struct MemoryLimit {
  std::int64_t bytes = 0;  // for this process in all, what it holds already included
  std::string source;      // "memory of this machine", "control group memory.max", "ulimit -v"
};

// `root` holds proc/ and sys/; another one is for tests.
MemoryLimit memory_limit(const std::filesystem::path& root = "/");

}  // namespace alibi
