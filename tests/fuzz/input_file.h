// Bytes as a file, for readers that map or stream one: in memory, one for each process.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "fuzz/fuzz.h"

namespace alibi {

class InputFile {
 public:
  explicit InputFile(const std::string& ending)
      : path_("/dev/shm/alibi-fuzz-" + std::to_string(::getpid()) + ending) {}
  // Of the same name but for the ending.
  InputFile(const std::string& ending, const InputFile& beside)
      : path_(std::filesystem::path(beside.path_).replace_extension(ending)) {}
  ~InputFile() { remove(); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void put(const std::uint8_t* data, std::size_t size) const {
    const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    expect(descriptor >= 0 && ::write(descriptor, data, size) == static_cast<ssize_t>(size),
           "the input cannot be written");
    ::close(descriptor);
  }
  void remove() const { ::unlink(path_.c_str()); }

 private:
  std::filesystem::path path_;
};

}  // namespace alibi
