// CUDA support, opened at run time so that a machine without a device needs none of its libraries.
#pragma once

#include <string>

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

}  // namespace alibi
