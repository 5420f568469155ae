#include "device/cuda_library.h"

namespace alibi {

const CudaState& open_cuda_library() {
  static const CudaState state{false, "this program was built with ALIBI_CUDA=OFF", {}};
  return state;
}

std::string device_uuid(int /*index*/) { return {}; }

ModuleSymbol open_module(const std::filesystem::path& library, const char* /*symbol*/) {
  return {nullptr, library, open_cuda_library().reason};
}

ModuleSymbol open_module_beside_program(const char* file, const char* symbol) {
  return open_module(file, symbol);
}

CudaKernels open_cuda_kernels(const std::filesystem::path& /*library*/) { return cuda_kernels(); }

RowKernels open_row_kernels(const std::filesystem::path& /*library*/) { return row_kernels(); }

const CudaKernels& cuda_kernels() {
  static const CudaKernels none{nullptr, open_cuda_library().reason};
  return none;
}

const CudaKernels& cudnn_kernels() { return cuda_kernels(); }

const RowKernels& row_kernels() {
  static const RowKernels none{nullptr, open_cuda_library().reason};
  return none;
}

}  // namespace alibi
