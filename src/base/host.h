// This machine among others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace alibi {

std::string boot_id();            // of this start of the system; "" where it has none
std::string network_namespace();  // of this process; "" where there are none

// Of this machine's processors those that this thread may run on, by their numbers; not empty.
std::vector<int> allowed_processors();

// How many processors' time the control groups of a container grant (docker --cpus, limits.cpu of
// Kubernetes), rounded up; none where they set no quota. With more threads, all of them stand still
// for the rest of each period. `root` holds proc/ and sys/.
std::optional<std::int64_t> processor_quota(const std::filesystem::path& root = "/");

// As ::socket(): -1 and errno on failure. Programs that this one starts do not have it.
int open_socket(int family, int kind);

}  // namespace alibi
