// What the tables of a library of kernels say of a launch that failed.
#pragma once

#include <cuda_runtime.h>

namespace alibi {

inline const char* launch_error_text(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}

// Launches that cannot be; all else comes from the device or from work before.
inline bool launch_is_own(int error) {
  return error == cudaErrorInvalidValue || error == cudaErrorInvalidConfiguration ||
         error == cudaErrorInvalidDeviceFunction || error == cudaErrorNoKernelImageForDevice ||
         error == cudaErrorInvalidPtx || error == cudaErrorUnsupportedPtxVersion ||
         error == cudaErrorLaunchOutOfResources;
}

}  // namespace alibi
