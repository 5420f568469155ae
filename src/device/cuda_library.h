// CUDA support, opened at run time so that a machine without a device needs none of its libraries.
#pragma once

#include <filesystem>
#include <string>

#include "device/cuda_module.h"
#include "device/row_module.h"

namespace alibi {

struct CudaState {
  bool usable = false;
  std::string reason;  // why not, when not usable: "no NVIDIA driver", "libtorch_cuda.so: ..."
  std::string name;    // of the first device, as the driver calls it
};

// Asks the driver for devices and opens LibTorch's CUDA library beside its CPU library. Must run
// before any tensor is made: LibTorch looks for CUDA once, at first use. Later calls return the
// first answer.
const CudaState& open_cuda_library();

// Kernels for a CUDA device in a library beside the program: our own, built where nvcc is there, or
// cuDNN's, built where the headers of its frontend are.
struct CudaKernels {
  const CudaModule* module = nullptr;
  std::string reason;  // why not, when there are none
};
struct RowKernels {
  const RowModule* module = nullptr;
  std::string reason;
};

// 16 bytes that tell a device from all others, however many of them this process sees; "" where the
// driver does not say.
std::string device_uuid(int index);

// A function of a library that is opened at run time.
struct ModuleSymbol {
  void* address = nullptr;
  std::string library;
  std::string reason;  // why not, when there is none
};
ModuleSymbol open_module(const std::filesystem::path& library, const char* symbol);
// Of `file` beside the program, or in the folder ALIBI_KERNELS; none without a CUDA device.
ModuleSymbol open_module_beside_program(const char* file, const char* symbol);

// Opens `library` and checks that it belongs to this program.
CudaKernels open_cuda_kernels(const std::filesystem::path& library);
RowKernels open_row_kernels(const std::filesystem::path& library);

// Those beside the program; only after open_cuda_library() found a device, whose CUDA runtime it
// shares. Later calls return the first answer.
const CudaKernels& cuda_kernels();   // libalibi_cuda.so
const CudaKernels& cudnn_kernels();  // libalibi_cudnn.so
const RowKernels& row_kernels();  // libalibi_cuda.so; none where the current device cannot run them

}  // namespace alibi
