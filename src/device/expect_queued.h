// What follows from the number that a function of a module of kernels returns.
#pragma once

#include <stdexcept>
#include <string>

#include "base/error.h"
#include "base/strings.h"
#include "device/cuda_module.h"

namespace alibi {

// The way out where a kernel cannot be chosen by a key.
inline std::string without_kernels() { return cat("go on without ", kCudaModuleFile); }

// `Module`: CudaModule or RowModule. Throws Error where the call itself was wrong, with the way
// out, and std::runtime_error where the device is, which may come from any work before this.
template <class Module>
void expect_queued(const Module& module, int code, const std::string& kernel,
                   const std::string& way_out) {
  if (code == 0) return;
  const std::string text = module.error_text(code);
  if (module.is_own != nullptr && !module.is_own(code))
    throw std::runtime_error("CUDA error: " + text);
  throw Error("CUDA device", kernel + ": " + text, way_out + ", and report this line");
}

}  // namespace alibi
