// A block of a device's threads played by threads of the host, one a warp: what kernel bodies see
// as their Block (kernels/cuda/kernel_block.h). Shared memory has its exact size, an asynchronous
// copy leaves NaN behind until it is waited for, and addresses are checked as the device would.
#pragma once

#include <array>
#include <barrier>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"
#include "kernels/cuda/kernel_block.h"

namespace alibi {

// What the warps of one block share.
struct HostShared {
  HostShared(int bytes, int warps)
      : memory(new std::byte[static_cast<std::size_t>(bytes)]),
        size(bytes),
        votes(static_cast<std::size_t>(warps)),
        barrier(warps) {
    std::memset(memory.get(), 0xff, static_cast<std::size_t>(bytes));  // NaN
  }
  std::unique_ptr<std::byte[]> memory;
  int size;
  std::vector<int> votes;
  std::barrier<> barrier;
};

class HostBlock {
 public:
  template <class T>
  struct Lanes {
    std::array<T, 32> lanes{};
    T& operator[](int lane) { return lanes[static_cast<std::size_t>(lane)]; }
    const T& operator[](int lane) const { return lanes[static_cast<std::size_t>(lane)]; }
  };

  HostBlock(HostShared& shared, KernelGrid place, int warp)
      : shared_(shared), place_(place), warp_(warp) {}

  int x() const { return place_.x; }
  int y() const { return place_.y; }
  int z() const { return place_.z; }
  int warp() const { return warp_; }

  void each_lane(const auto& f) {
    for (int lane = 0; lane < 32; ++lane) f(lane);
  }

  template <class T>
  T& at(std::uint32_t offset) {
    ensure(
        offset % sizeof(T) == 0 && offset + sizeof(T) <= static_cast<std::uint32_t>(shared_.size),
        "an address lies in shared memory");
    return *reinterpret_cast<T*>(shared_.memory.get() + offset);
  }

  using Chunk = std::array<std::uint16_t, 8>;

  void copy16(std::uint32_t offset, const void* from, bool there) {
    ensure(offset % 16 == 0, "a copy's target is aligned");
    ensure(reinterpret_cast<std::uintptr_t>(from) % 16 == 0, "a copy's source is aligned");
    Chunk chunk{};
    if (there) std::memcpy(chunk.data(), from, 16);
    at<Chunk>(offset).fill(0xffff);
    pending_.push_back({offset, chunk});
  }
  void wait() {
    for (const auto& [offset, chunk] : pending_) at<Chunk>(offset) = chunk;
    pending_.clear();
  }
  void sync() { shared_.barrier.arrive_and_wait(); }
  bool all(const Lanes<int>& lanes) {
    int holds = 1;
    for (const int one : lanes.lanes) holds = holds != 0 && one != 0 ? 1 : 0;
    shared_.votes[static_cast<std::size_t>(warp_)] = holds;
    sync();
    for (const int vote : shared_.votes) holds = holds != 0 && vote != 0 ? 1 : 0;
    sync();
    return holds != 0;
  }

  Lanes<Words4> load(const auto& offset_of) {
    return fragments(offset_of, [](const Chunk* rows, int lane) {
      return joined(rows[lane / 4][at_pair(lane)], rows[lane / 4][at_pair(lane) + 1]);
    });
  }
  Lanes<Words4> load_transposed(const auto& offset_of) {
    return fragments(offset_of, [](const Chunk* rows, int lane) {
      const auto column = static_cast<std::size_t>(lane / 4);
      return joined(rows[at_pair(lane)][column], rows[at_pair(lane) + 1][column]);
    });
  }

  void multiply(Lanes<Floats4>& sums, const Lanes<Words4>& left, const Lanes<Words4>& right,
                int first) {
    float l[16][16], r[16][8];
    for (int lane = 0; lane < 32; ++lane) {
      const int g = lane / 4, t = 2 * (lane % 4);
      for (int i = 0; i < 4; ++i) put(&l[g + 8 * (i % 2)][t + 8 * (i / 2)], left[lane].v[i]);
      for (int i = 0; i < 2; ++i) {
        float pair[2];
        put(pair, right[lane].v[first + i]);
        r[t + 8 * i][g] = pair[0];
        r[t + 8 * i + 1][g] = pair[1];
      }
    }
    for (int lane = 0; lane < 32; ++lane) {
      for (int e = 0; e < 4; ++e) {
        const int row = lane / 4 + 8 * (e / 2), column = 2 * (lane % 4) + e % 2;
        for (int k = 0; k < 16; ++k) sums[lane].v[e] += l[row][k] * r[k][column];
      }
    }
  }

  void quad_max(Lanes<float>& x) {
    over_quads(x, [](float a, float b) { return a > b ? a : b; });
  }
  void quad_sum(Lanes<float>& x) {
    over_quads(x, [](float a, float b) { return a + b; });
  }

  void warp_max(Lanes<float>& x) {
    over_warp(x, [](float a, float b) { return std::fmax(a, b); });
  }
  void warp_sum(Lanes<float>& x) {
    over_warp(x, [](float a, float b) { return a + b; });
  }

  static float exp2(float x) { return std::exp2(x); }
  static float larger(float x, float y) { return std::fmax(x, y); }
  static float fused(float x, float y, float z) { return std::fma(x, y, z); }
  static float log2(float x) { return std::log2(x); }
  static float root(float x) { return std::sqrt(x); }
  static float widened(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  static float widened_high(std::uint32_t pair) { return std::bit_cast<float>(pair & 0xffff0000U); }
  static std::uint16_t rounded(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if (std::isnan(x)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  static std::uint32_t pair(float low, float high) { return joined(rounded(low), rounded(high)); }
  static Words4 chunk(const std::uint16_t* from) {
    ensure(reinterpret_cast<std::uintptr_t>(from) % 16 == 0, "a chunk is loaded aligned");
    Words4 words;
    std::memcpy(&words, from, 16);
    return words;
  }
  static FloatChunk constant(const float* from) {
    ensure(reinterpret_cast<std::uintptr_t>(from) % 16 == 0, "a chunk is loaded aligned");
    FloatChunk numbers;
    std::memcpy(&numbers, from, 16);
    return numbers;
  }
  static void store_chunk(float* to, const FloatChunk& chunk) {
    ensure(reinterpret_cast<std::uintptr_t>(to) % 16 == 0, "a chunk is stored aligned");
    std::memcpy(to, &chunk, 16);
  }
  static void store(std::uint16_t* to, std::uint32_t pair) {
    ensure(reinterpret_cast<std::uintptr_t>(to) % 4 == 0, "a pair is stored aligned");
    std::memcpy(to, &pair, 4);
  }
  static void store_chunk(std::uint16_t* to, const Words4& chunk) {
    ensure(reinterpret_cast<std::uintptr_t>(to) % 16 == 0, "a chunk is stored aligned");
    std::memcpy(to, &chunk, 16);
  }

 private:
  struct Pending {
    std::uint32_t offset;
    Chunk chunk;
  };
  static std::size_t at_pair(int lane) { return static_cast<std::size_t>(2 * (lane % 4)); }
  static std::uint32_t joined(std::uint16_t low, std::uint16_t high) {
    return static_cast<std::uint32_t>(high) << 16 | low;
  }
  static void put(float* pair, std::uint32_t word) {
    pair[0] = widened(static_cast<std::uint16_t>(word));
    pair[1] = widened(static_cast<std::uint16_t>(word >> 16));
  }
  Lanes<Words4> fragments(const auto& offset_of, const auto& pair_of) {
    Lanes<Words4> result;
    for (int matrix = 0; matrix < 4; ++matrix) {
      std::array<Chunk, 8> rows;
      for (int row = 0; row < 8; ++row) {
        const std::uint32_t offset = offset_of(8 * matrix + row);
        ensure(offset % 16 == 0, "a matrix's row is aligned");
        rows[static_cast<std::size_t>(row)] = at<Chunk>(offset);
      }
      for (int lane = 0; lane < 32; ++lane) result[lane].v[matrix] = pair_of(rows.data(), lane);
    }
    return result;
  }
  static void with_lane(Lanes<float>& x, int step, const auto& joined) {
    const Lanes<float> before = x;
    for (int lane = 0; lane < 32; ++lane) x[lane] = joined(before[lane], before[lane ^ step]);
  }
  static void over_quads(Lanes<float>& x, const auto& joined) {
    for (const int step : {1, 2}) with_lane(x, step, joined);
  }
  static void over_warp(Lanes<float>& x, const auto& joined) {
    for (const int step : {16, 8, 4, 2, 1}) with_lane(x, step, joined);
  }

  HostShared& shared_;
  KernelGrid place_;
  int warp_;
  std::vector<Pending> pending_;
};

// Runs body(block) for every block of the grid, on `warps` threads each.
inline void run_grid(const KernelGrid& grid, int warps, int shared_bytes, const auto& body) {
  for (int z = 0; z < grid.z; ++z) {
    for (int y = 0; y < grid.y; ++y) {
      for (int x = 0; x < grid.x; ++x) {
        HostShared shared(shared_bytes, warps);
        std::vector<std::jthread> threads;
        for (int warp = 0; warp < warps; ++warp) {
          threads.emplace_back([&, warp] {
            HostBlock block(shared, {x, y, z}, warp);
            body(block);
          });
        }
      }
    }
  }
}

}  // namespace alibi
