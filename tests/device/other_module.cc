// A library of kernels that belongs to another program.
#include "device/cuda_module.h"
#include "device/row_module.h"

extern "C" const alibi::CudaModule* alibi_cuda_module() {
  static const alibi::CudaModule module{.version = alibi::kCudaModuleVersion + 1};
  return &module;
}

extern "C" const alibi::RowModule* alibi_row_module() {
  static const alibi::RowModule module{.version = alibi::kRowModuleVersion + 100};
  return &module;
}
