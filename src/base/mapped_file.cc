#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace alibi {
namespace {

struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.value < 0)
    throw Error(path.string(), std::string("cannot open: ") + std::strerror(errno));
  struct stat status {};
  if (::fstat(file.value, &status) != 0) {
    throw Error(path.string(), std::string("cannot read its size: ") + std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) throw Error(path.string(), "is not a regular file");
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (mapped == MAP_FAILED) {
    throw Error(path.string(), std::string("cannot map: ") + std::strerror(errno));
  }
  data_ = static_cast<const std::byte*>(mapped);
  watched_ = WatchedMapping(data_, size_, path);
}

MappedFile::~MappedFile() {
  watched_ = {};
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      watched_(std::move(other.watched_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(watched_, other.watched_);
  return *this;
}

}  // namespace alibi
