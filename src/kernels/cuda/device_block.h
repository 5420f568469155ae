// A kernel body's Block (kernel_block.h) on a device of compute capability 8.0 or later.
#pragma once

#include <cstddef>

#include "kernels/cuda/kernel_block.h"

namespace alibi {

class DeviceBlock {
 public:
  template <class T>
  struct Lanes {
    T value;
    ALIBI_KERNEL T& operator[](int) { return value; }
    ALIBI_KERNEL const T& operator[](int) const { return value; }
  };

  ALIBI_KERNEL explicit DeviceBlock(std::byte* shared)
      : shared_(shared), start_(static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))) {}

  ALIBI_KERNEL int x() const { return static_cast<int>(blockIdx.x); }
  ALIBI_KERNEL int y() const { return static_cast<int>(blockIdx.y); }
  ALIBI_KERNEL int z() const { return static_cast<int>(blockIdx.z); }
  ALIBI_KERNEL int warp() const { return static_cast<int>(threadIdx.x / 32); }

  template <class F>
  ALIBI_KERNEL void each_lane(const F& f) {
    f(static_cast<int>(threadIdx.x % 32));
  }

  template <class T>
  ALIBI_KERNEL T& at(std::uint32_t offset) {
    return *reinterpret_cast<T*>(shared_ + offset);
  }

  ALIBI_KERNEL void copy16(std::uint32_t offset, const void* from, bool there) {
    const int bytes = there ? 16 : 0;  // the rest is filled with zeros
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(start_ + offset), "l"(from),
                 "r"(bytes));
  }
  ALIBI_KERNEL void wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }
  ALIBI_KERNEL void sync() { __syncthreads(); }
  ALIBI_KERNEL bool all(const Lanes<int>& holds) { return __syncthreads_and(holds.value) != 0; }

  template <class F>
  ALIBI_KERNEL Lanes<Words4> load(const F& offset_of) {
    return matrices<false>(offset_of);
  }
  template <class F>
  ALIBI_KERNEL Lanes<Words4> load_transposed(const F& offset_of) {
    return matrices<true>(offset_of);
  }

  ALIBI_KERNEL void multiply(Lanes<Floats4>& sums, const Lanes<Words4>& left,
                             const Lanes<Words4>& right, int first) {
    float(&c)[4] = sums.value.v;
    const std::uint32_t(&a)[4] = left.value.v;
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(right.value.v[first]),
          "r"(right.value.v[first + 1]));
  }

  ALIBI_KERNEL void quad_max(Lanes<float>& x) {
    x.value = fmaxf(x.value, __shfl_xor_sync(~0U, x.value, 1));
    x.value = fmaxf(x.value, __shfl_xor_sync(~0U, x.value, 2));
  }
  ALIBI_KERNEL void quad_sum(Lanes<float>& x) {
    x.value += __shfl_xor_sync(~0U, x.value, 1);
    x.value += __shfl_xor_sync(~0U, x.value, 2);
  }

  ALIBI_KERNEL void warp_max(Lanes<float>& x) {
    ALIBI_UNROLL for (int step = 16; step > 0; step /= 2) x.value =
        fmaxf(x.value, __shfl_xor_sync(~0U, x.value, step));
  }
  ALIBI_KERNEL void warp_sum(Lanes<float>& x) {
    ALIBI_UNROLL for (int step = 16; step > 0; step /= 2) x.value +=
        __shfl_xor_sync(~0U, x.value, step);
  }

  // One instruction instead of the four that keep subnormal numbers. Here it makes weights, of
  // which a row's largest is about 1: one below 2^-126 is lost in the row's sum anyway.
  ALIBI_KERNEL static float exp2(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
  }
  ALIBI_KERNEL static float larger(float x, float y) { return fmaxf(x, y); }
  ALIBI_KERNEL static float fused(float x, float y, float z) { return fmaf(x, y, z); }
  ALIBI_KERNEL static float log2(float x) { return log2f(x); }
  ALIBI_KERNEL static float root(float x) { return sqrtf(x); }
  ALIBI_KERNEL static float widened(std::uint16_t bits) {
    return __uint_as_float(static_cast<std::uint32_t>(bits) << 16);
  }
  ALIBI_KERNEL static float widened_high(std::uint32_t pair) {
    return __uint_as_float(pair & 0xffff0000U);
  }
  ALIBI_KERNEL static std::uint32_t pair(float low, float high) {
    std::uint32_t word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
  }
  ALIBI_KERNEL static std::uint16_t rounded(float x) {
    return static_cast<std::uint16_t>(pair(x, 0));
  }
  ALIBI_KERNEL static Words4 chunk(const std::uint16_t* from) {
    return *reinterpret_cast<const Words4*>(from);
  }
  ALIBI_KERNEL static FloatChunk constant(const float* from) {
    const float4 four = __ldg(reinterpret_cast<const float4*>(from));
    return {{four.x, four.y, four.z, four.w}};
  }
  ALIBI_KERNEL static void store_chunk(float* to, const FloatChunk& chunk) {
    *reinterpret_cast<FloatChunk*>(to) = chunk;
  }
  ALIBI_KERNEL static void store(std::uint16_t* to, std::uint32_t pair) {
    *reinterpret_cast<std::uint32_t*>(to) = pair;
  }
  ALIBI_KERNEL static void store_chunk(std::uint16_t* to, const Words4& chunk) {
    *reinterpret_cast<Words4*>(to) = chunk;
  }

 private:
  // Only the instruction differs.
  template <bool kTransposed, class F>
  ALIBI_KERNEL Lanes<Words4> matrices(const F& offset_of) {
    Lanes<Words4> result;
    std::uint32_t(&v)[4] = result.value.v;
    const std::uint32_t at = start_ + offset_of(static_cast<int>(threadIdx.x % 32));
    if constexpr (kTransposed) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                   : "r"(at)
                   : "memory");
    } else {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                   : "r"(at)
                   : "memory");
    }
    return result;
  }

  std::byte* shared_;
  std::uint32_t start_;
};

}  // namespace alibi
