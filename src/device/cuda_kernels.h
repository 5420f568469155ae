// Our own kernels for a CUDA device: libalibi_cuda.so beside the program, built where nvcc is
// there.
#pragma once

#include <filesystem>
#include <string>

#include "device/cuda_module.h"

namespace alibi {

struct CudaKernels {
  const CudaModule* module = nullptr;
  std::string reason;  // why not, when there are none
};

// Opens `library` and checks that it belongs to this program.
CudaKernels open_cuda_kernels(const std::filesystem::path& library);

// The one beside the program; only after open_cuda_library() found a device, whose CUDA runtime it
// shares. Later calls return the first answer.
const CudaKernels& cuda_kernels();

}  // namespace alibi
