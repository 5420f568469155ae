// A whole file, read only, in memory without being read: pages come when touched.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/mapping_guard.h"

namespace alibi {

class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);  // throws Error; an empty file is allowed
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  WatchedMapping watched_;  // gone before the pages are
};

}  // namespace alibi
