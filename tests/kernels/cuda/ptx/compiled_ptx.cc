#include "kernels/cuda/ptx/compiled_ptx.h"

#include <fstream>
#include <sstream>

#include "base/strings.h"

namespace alibi {

CompiledPtx read_compiled_ptx(const std::string& file) {
  if (file.empty()) return {{}, "nvcc was not found when this was configured"};
  std::ostringstream read;
  read << std::ifstream(file).rdbuf();
  std::string text = read.str();
  if (text.find(".entry") == std::string::npos) return {{}, cat("nvcc did not compile it: ", text)};
  return {PtxText(std::move(text)), {}};
}

const CompiledPtx& compiled_rows() {
  static const CompiledPtx compiled = read_compiled_ptx(ALIBI_ROW_OPS_PTX);
  return compiled;
}

}  // namespace alibi
