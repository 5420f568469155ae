#include "device/cuda_kernels.h"

#include <dlfcn.h>

#include "base/strings.h"
#include "device/cuda_library.h"

namespace alibi {

CudaKernels open_cuda_kernels(const std::filesystem::path& library) {
  std::error_code ignored;
  if (!std::filesystem::exists(library, ignored))
    return {nullptr, library.string() + " is missing: built where nvcc is there"};
  void* opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return {nullptr, dlerror()};
  const auto table = reinterpret_cast<CudaModuleFunction>(dlsym(opened, kCudaModuleSymbol));
  if (table == nullptr) return {nullptr, cat(library.string(), " lacks ", kCudaModuleSymbol)};
  const CudaModule* module = table();
  if (module->version != kCudaModuleVersion)
    return {nullptr, cat(library.string(), " is of version ", module->version,
                         ", this program expects ", kCudaModuleVersion, ": build both anew")};
  return {module, {}};
}

const CudaKernels& cuda_kernels() {
  static const CudaKernels kernels = [] {
    const CudaState& cuda = open_cuda_library();
    if (!cuda.usable) return CudaKernels{nullptr, cuda.reason};
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return CudaKernels{nullptr, "/proc/self/exe: " + error.message()};
    return open_cuda_kernels(program.parent_path() / kCudaModuleFile);
  }();
  return kernels;
}

}  // namespace alibi
