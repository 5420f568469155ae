// A device's memory as the machine sees it: each byte knows whether it is defined and who touched
// it last, so that a read of nothing and a race are found whatever the order of threads was.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/ptx/ptx_error.h"

namespace alibi {

// Who wrote and who read each byte since the last point of order (a barrier, a launch). Exact: two
// accesses of one byte by two threads, one of them a write, are found in either order.
class AccessLog {
 public:
  static constexpr std::uint32_t kSeveral = 0xffffffff;  // as a reader: more than one thread

  explicit AccessLog(std::size_t bytes) : writers_(bytes), readers_(bytes) {}
  void order() { ++epoch_; }

  // Whether another thread raced with this one. Threads count from 0; a warp that reads together
  // is kSeveral, which no write may meet.
  bool read(std::size_t at, std::size_t bytes, std::uint32_t thread);
  bool write(std::size_t at, std::size_t bytes, std::uint32_t thread);

 private:
  std::uint64_t access(std::uint32_t thread) const { return epoch_ << 32 | thread; }
  bool is_another(std::uint64_t last, std::uint64_t now) const {
    return last >> 32 == epoch_ && last != now;
  }
  std::uint64_t epoch_ = 1;
  std::vector<std::uint64_t> writers_, readers_;  // the last access of each byte
};

class SharedMemory {
 public:
  SharedMemory(std::uint32_t start, int bytes);

  // `used`: bit i for byte i; others may be undefined, as nobody looks at them.
  void read(std::uint32_t address, std::span<std::byte> to, std::uint32_t thread,
            std::uint32_t used = 0xffffffff);
  void write(std::uint32_t address, std::span<const std::byte> from, std::uint32_t thread);
  // Asynchronously: neither the old bytes nor the new ones can be read before land().
  void copy(std::uint32_t address, std::span<const std::byte, 16> from, std::uint32_t thread);
  void land(std::uint32_t thread);
  bool awaits(std::uint32_t thread) const;
  void barrier() { log_.order(); }
  void clear();  // for the next block

 private:
  enum class State : std::uint8_t { kUndefined, kDefined, kOnTheWay };
  struct Copy {
    std::size_t at;
    std::array<std::byte, 16> bytes;
  };
  std::size_t checked(std::uint32_t address, std::size_t bytes) const;
  void must_not_be_on_the_way(std::size_t at, std::size_t bytes, const char* what) const;

  std::uint32_t start_;
  std::vector<std::byte> bytes_;
  std::vector<State> states_;
  AccessLog log_;
  std::map<std::uint32_t, std::vector<Copy>> copies_;  // by thread
};

// Tensors at addresses of their own, far from one another. What a launch writes, one thread has
// written alone, and no other reads it in the same launch.
class GlobalMemory {
 public:
  // All return the address. A result is undefined until it is written; what is changed in place is
  // input and result at once.
  std::uint64_t put_input(const std::string& name, std::span<const std::byte> bytes);
  std::uint64_t put_changed(const std::string& name, std::span<const std::byte> bytes);
  std::uint64_t put_result(const std::string& name, std::size_t bytes);

  std::span<const std::byte> bytes(std::uint64_t address) const;
  std::size_t undefined(std::uint64_t address) const;  // how many bytes of it

  void read(std::uint64_t address, std::span<std::byte> to, std::uint32_t thread,
            std::uint32_t used = 0xffffffff);
  void write(std::uint64_t address, std::span<const std::byte> from, std::uint32_t thread);
  void launch();

 private:
  struct Tensor {
    Tensor(std::string name_, std::size_t bytes_, bool input_);
    std::string name;
    bool input;
    std::vector<std::byte> bytes;
    std::vector<bool> defined;
    AccessLog log;
  };
  struct Place {
    Tensor& tensor;
    std::size_t at;
  };
  std::uint64_t put(std::string name, std::size_t bytes, bool input);
  Place find(std::uint64_t address, std::size_t bytes);
  const Tensor& named_by(std::uint64_t address) const;

  std::vector<std::unique_ptr<Tensor>> tensors_;
};

}  // namespace alibi
