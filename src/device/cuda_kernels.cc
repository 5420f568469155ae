#include "device/cuda_kernels.h"

#include <dlfcn.h>

#include <cstdlib>

#include "base/strings.h"
#include "device/cuda_library.h"

namespace alibi {
namespace {

CudaKernels open_beside_program(const char* file) {
  const CudaState& cuda = open_cuda_library();
  if (!cuda.usable) return {nullptr, cuda.reason};
  const char* const folder = std::getenv("ALIBI_KERNELS");  // tests lie elsewhere
  if (folder != nullptr) return open_cuda_kernels(std::filesystem::path(folder) / file);
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {nullptr, "/proc/self/exe: " + error.message()};
  return open_cuda_kernels(program.parent_path() / file);
}

}  // namespace

CudaKernels open_cuda_kernels(const std::filesystem::path& library) {
  std::error_code ignored;
  if (!std::filesystem::exists(library, ignored))
    return {nullptr, cat(library.string(), " is missing: ", kCudaModuleFile,
                         " is built where nvcc is there, ", kCudnnModuleFile,
                         " after scripts/setup --cuda")};
  void* opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return {nullptr, dlerror()};
  const auto table = reinterpret_cast<CudaModuleFunction>(dlsym(opened, kCudaModuleSymbol));
  if (table == nullptr) return {nullptr, cat(library.string(), " lacks ", kCudaModuleSymbol)};
  const CudaModule* module = table();
  if (module->version != kCudaModuleVersion || module->call_bytes != sizeof(DeviceAttention))
    return {nullptr, cat(library.string(), " is of version ", module->version,
                         ", this program expects ", kCudaModuleVersion, ": build both anew")};
  return {module, {}};
}

const CudaKernels& cuda_kernels() {
  static const CudaKernels kernels = open_beside_program(kCudaModuleFile);
  return kernels;
}

const CudaKernels& cudnn_kernels() {
  static const CudaKernels kernels = open_beside_program(kCudnnModuleFile);
  return kernels;
}

}  // namespace alibi
