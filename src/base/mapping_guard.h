// A file that is cut short while it is mapped kills the process that reads it by SIGBUS. The guard
// turns that into one line that names the file, and exit code 1.
#pragma once

#include <cstddef>
#include <filesystem>

namespace alibi {

// Once, at the start of the program. Any other SIGBUS still ends it as before.
void install_mapping_guard();

// One mapping to name, for as long as this lives. The first 1,024 are named, others are not.
class WatchedMapping {
 public:
  WatchedMapping() = default;
  WatchedMapping(const std::byte* first, std::size_t size, const std::filesystem::path& path);
  ~WatchedMapping();
  WatchedMapping(WatchedMapping&& other) noexcept;
  WatchedMapping& operator=(WatchedMapping&& other) noexcept;

 private:
  int slot_ = -1;
};

}  // namespace alibi
