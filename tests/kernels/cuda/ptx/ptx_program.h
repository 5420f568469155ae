// A kernel out of the PTX text that nvcc writes, decoded for PtxWarp: registers, constants, special
// registers and symbols are all places in a warp's register file, one number a lane.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cuda/ptx/ptx_error.h"

namespace alibi {

inline constexpr int kPtxLanes = 32;
using LaneMask = std::uint32_t;
inline constexpr LaneMask kAllLanes = 0xffffffff;

class PtxWarp;
struct PtxInstruction;
using PtxHandler = void (*)(PtxWarp& warp, const PtxInstruction& instruction, LaneMask lanes);

// A register in a warp's file.
struct PtxOperand {
  std::uint32_t index = 0;  // among the kernel's registers
  std::uint32_t at = 0;     // its first byte in the file
  int bytes = 0;            // of a lane; 0: a predicate, one bit a lane
  std::int64_t offset = 0;  // of an address; the value of an immediate
  bool constant = false;    // always written
};

struct PtxInstruction {
  PtxHandler run = nullptr;
  std::vector<PtxOperand> operands;
  std::vector<std::uint32_t> reads, writes;  // registers, by index
  bool guarded = false, guard_negated = false;
  PtxOperand guard;
  int target = -1;                       // of a branch: an instruction
  std::uint32_t used_bytes = kAllLanes;  // of a vector load; nobody uses the others
  std::string opcode, text;
  int line = 0;  // of the text, from 1
};

enum class PtxSpecial { kThread, kBlockX, kBlockY, kBlockZ };

struct PtxKernel {
  struct Constant {
    PtxOperand place;
    std::uint64_t value;
  };
  struct Special {
    PtxOperand place;
    PtxSpecial which;
  };
  std::string name;
  std::vector<PtxInstruction> code;
  std::vector<Constant> constants;
  std::vector<Special> specials;
  std::uint32_t file_bytes = 0, registers = 0;
  int parameter_bytes = 0, static_shared_bytes = 0, most_threads = 0;
};

// Where shared memory begins in its own address space: not at 0, as on devices that keep a part.
inline constexpr std::uint32_t kSharedStart = 1024;

// The text of a PTX file, cut into its head and its kernels.
class PtxText {
 public:
  explicit PtxText(std::string text);

  // The one kernel whose mangled name contains all of these, as a text of its own: fewer lines to
  // decode, the same line numbers.
  std::string kernel(const std::vector<std::string>& parts) const;

 private:
  std::string text_;
  std::vector<std::size_t> starts_;  // of the kernels
};

// Decodes a text with one kernel. Throws PtxError (kSyntax) with line and opcode.
PtxKernel decode_ptx(std::string_view text);

}  // namespace alibi
