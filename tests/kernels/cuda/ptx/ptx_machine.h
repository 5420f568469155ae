// Runs a decoded kernel over a grid: block by block, a block's warps by turns, 32 lanes at once.
//
// Lanes that part go on from the smallest place in the text, and join again where they meet. nvcc
// puts what both sides of a branch come to behind both of them, so they meet there, as a device's
// lanes do by the compiler's own marks, which PTX does not show. An instruction that needs a whole
// warp and does not have it is an error, so a place where this rule joins later is never missed.
#pragma once

#include <map>
#include <random>

#include "kernels/cuda/kernel_block.h"
#include "kernels/cuda/ptx/ptx_memory.h"
#include "kernels/cuda/ptx/ptx_program.h"

namespace alibi {

struct PtxLaunch {
  KernelGrid grid;
  int threads = kPtxLanes;
  int shared_bytes = 0;  // beyond the kernel's own
  std::vector<std::byte> parameters;
  // 0: a warp runs up to a barrier, then the next. Others: warps are interleaved in an order drawn
  // from the seed, a few instructions each.
  unsigned seed = 0;
};

struct PtxCounts {
  std::map<std::string, std::int64_t> instructions;  // that warps ran, by opcode
  std::int64_t bank_conflicts = 0;  // passes of ldmatrix over shared memory beyond one a matrix
};

// What kind of instruction an opcode is, for a table: "products", "matrix loads", "whole numbers".
std::string opcode_class(std::string_view opcode);

class PtxBlock;

class PtxWarp {
 public:
  PtxWarp(const PtxKernel& kernel, PtxBlock& block, int number);
  void begin(const KernelGrid& place);

  // Up to `most` instructions, or until it waits at a barrier or has ended.
  void run(std::int64_t most);
  bool ended() const { return alive_ == 0; }
  bool waits() const { return waits_; }
  int place() const { return place_; }  // of the next instruction, at a barrier that one

  // The barrier's end: `all`, where it is one that also votes.
  void go_on(bool all);
  bool vote() const { return vote_; }

  // For operations. A register's numbers of all lanes, of type T; write() leaves other lanes alone.
  template <class T>
  std::array<T, kPtxLanes> read(const PtxOperand& from) const {
    std::array<T, kPtxLanes> numbers;
    std::memcpy(numbers.data(), bytes(from), sizeof numbers);
    return numbers;
  }
  template <class T>
  void write(const PtxOperand& to, const std::array<T, kPtxLanes>& numbers, LaneMask lanes) {
    if (lanes == kAllLanes) {
      std::memcpy(bytes(to), numbers.data(), sizeof numbers);
      return;
    }
    for (std::size_t lane = 0; lane < kPtxLanes; ++lane)
      if (lanes >> lane & 1) std::memcpy(bytes(to) + lane * sizeof(T), &numbers[lane], sizeof(T));
  }
  LaneMask predicate(const PtxOperand& from) const;
  void write_predicate(const PtxOperand& to, LaneMask value, LaneMask lanes);
  // Of a register of any width, without a sign.
  std::uint64_t number(const PtxOperand& from, int lane) const;
  void write_number(const PtxOperand& to, int lane, std::uint64_t value);
  std::uint64_t address(const PtxOperand& from, int lane) const;

  void branch(int target, LaneMask lanes);
  void end(LaneMask lanes);
  void wait_at_barrier(LaneMask lanes, bool vote);

  PtxBlock& block() { return block_; }
  std::uint32_t thread(int lane) const {  // in its block
    return static_cast<std::uint32_t>(number_ * kPtxLanes + lane);
  }

 private:
  struct Group {
    int place;
    LaneMask lanes;
  };
  void step();
  void choose();
  void must_be_written(std::uint32_t one, LaneMask lanes) const;
  [[noreturn]] void fail(const PtxError& error, const PtxInstruction& instruction) const;
  std::byte* bytes(const PtxOperand& operand) {
    return reinterpret_cast<std::byte*>(file_.data()) + operand.at;
  }
  const std::byte* bytes(const PtxOperand& operand) const {
    return reinterpret_cast<const std::byte*>(file_.data()) + operand.at;
  }
  void fill(const PtxOperand& operand, std::uint64_t value);

  const PtxKernel& kernel_;
  PtxBlock& block_;
  int number_;
  std::vector<std::uint64_t> file_;
  std::vector<LaneMask> written_;  // by register
  int place_ = 0;
  LaneMask lanes_ = 0;         // at place_
  std::vector<Group> others_;  // the lanes elsewhere
  int next_other_ = 0;         // the smallest place of those
  LaneMask alive_ = 0;
  bool waits_ = false, vote_ = false;
  std::int64_t steps_ = 0;
};

class PtxBlock {
 public:
  PtxBlock(const PtxKernel& kernel, GlobalMemory& memory, const PtxLaunch& launch);
  void run(const KernelGrid& place);

  SharedMemory& shared() { return shared_; }
  GlobalMemory& memory() { return memory_; }
  const std::vector<std::byte>& parameters() const { return launch_.parameters; }
  const KernelGrid& place() const { return place_; }
  // A number for each thread of the grid.
  std::uint32_t thread_of_grid(std::uint32_t thread) const;
  void count(std::size_t instruction) { ++counts_[instruction]; }
  void count_conflicts(std::span<const std::uint32_t, 8> rows);
  PtxCounts counts() const;

 private:
  void run_in_order();
  void run_interleaved();
  void pass_barrier();

  const PtxKernel& kernel_;
  GlobalMemory& memory_;
  const PtxLaunch& launch_;
  SharedMemory shared_;
  std::vector<PtxWarp> warps_;
  std::vector<std::int64_t> counts_;
  std::int64_t conflicts_ = 0;
  std::mt19937 generator_;
  KernelGrid place_;
};

PtxCounts launch_ptx(const PtxKernel& kernel, GlobalMemory& memory, const PtxLaunch& launch);

}  // namespace alibi
