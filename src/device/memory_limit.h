// How much memory this process may take: the least of what the machine has free, what its control
// groups allow and what `ulimit -v` leaves. A container's limit is not to be seen in the machine's
// memory, and crossing it is no failed allocation but SIGKILL.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "device/tensor.h"

namespace alibi {

struct MemoryLimit {
  std::int64_t bytes = 0;  // for this process in all, what it holds already included
  std::string source;      // "memory of this machine", "control group memory.max", "ulimit -v"
};

// `root` holds proc/ and sys/; another one is for tests.
MemoryLimit memory_limit(const std::filesystem::path& root = "/");

// What a device has in all; on the CPU as above.
MemoryLimit memory_limit(torch::Device device);

}  // namespace alibi
