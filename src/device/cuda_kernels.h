// Kernels for a CUDA device in libraries beside the program: our own, built where nvcc is there,
// and cuDNN's, built where the headers of its frontend are.
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

// Those beside the program, or in the folder ALIBI_KERNELS; only after open_cuda_library() found a
// device, whose CUDA runtime it shares. Later calls return the first answer.
const CudaKernels& cuda_kernels();   // libalibi_cuda.so
const CudaKernels& cudnn_kernels();  // libalibi_cudnn.so

}  // namespace alibi
