// What nvcc made of a source of kernels.
#pragma once

#include <optional>
#include <string>

#include "kernels/cuda/ptx/ptx_program.h"

namespace alibi {

// Its PTX, or why there is none.
struct CompiledPtx {
  std::optional<PtxText> text;
  std::string why_not;
};

// `file`: as compile_ptx.cmake left it; empty: there was no nvcc.
CompiledPtx read_compiled_ptx(const std::string& file);
const CompiledPtx& compiled_rows();  // row_ops.cu

}  // namespace alibi
