#include "kernels/tile_gemm.h"

#include <ATen/native/CPUBlas.h>

#include <sys/mman.h>

#include <new>
#include <unordered_set>

#include "base/process_memory.h"

namespace alibi {
namespace {

bool can_map(std::size_t bytes) {
  void* room = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return room != MAP_FAILED && munmap(room, bytes) == 0;
}

// oneDNN makes machine code for every new shape, on each thread, and LibTorch 2.11 crashes where
// memory for it is lacking. So what is free at the heap's end goes back to the system where the
// rest is too little, and std::bad_alloc is thrown where that does not help.
void make_room_for_code(const TileProduct& p, std::int64_t precision) {
  static thread_local std::unordered_set<std::uint64_t> known;  // hashes of shapes
  std::uint64_t hash = 0;
  for (const std::int64_t number :
       {p.m, p.n, p.k, p.a_stride, p.c_stride, std::int64_t{p.add}, precision})
    hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15u;
  if (known.contains(hash)) return;
  constexpr std::size_t kRoom = 4 << 20;
  if (!can_map(kRoom) && (!give_back_freed_memory() || !can_map(kRoom))) throw std::bad_alloc();
  known.insert(hash);
}

}  // namespace

void tile_gemm_bf16(const TileProduct& p) {
  make_room_for_code(p, 1);
  at::native::cpublas::brgemm(p.m, p.n, p.k, p.a_stride != 0 ? p.a_stride : p.k, p.n,
                              p.c_stride != 0 ? p.c_stride : p.n, p.add,
                              static_cast<const at::BFloat16*>(p.a),
                              static_cast<const at::BFloat16*>(p.b), p.c, /*is_vnni=*/true);
}

void tile_gemm_fp32(const TileProduct& p) {
  make_room_for_code(p, 2);
  at::native::cpublas::brgemm(p.m, p.n, p.k, p.k, p.n, p.n, p.add, static_cast<const float*>(p.a),
                              static_cast<const float*>(p.b), p.c, /*is_vnni=*/false);
}

void tile_gemm_release() { at::native::cpublas::brgemm_release(/*is_vnni=*/true); }

}  // namespace alibi
