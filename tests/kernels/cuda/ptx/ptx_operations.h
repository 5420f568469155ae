// What each opcode does to a warp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/cuda/ptx/ptx_program.h"

namespace alibi {

// Operands, one letter each, vectors opened: p predicate, h, w, d registers of 16, 32 and 64 bits,
// x of any width, a address, i immediate, l label. Capitals are written.
struct PtxOperation {
  PtxHandler run;
  std::string shape;
};

// The forms of an opcode, told apart by their number of operands and the width of the first; none:
// not known.
std::vector<PtxOperation> ptx_operations(std::string_view opcode);

}  // namespace alibi
