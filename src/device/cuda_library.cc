#include "device/cuda_library.h"
#include "base/process.h"
#include "base/strings.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>

namespace alibi {
namespace {

// The driver's own count: asking LibTorch would fix its answer before CUDA is loaded.
std::string why_no_device(void* driver) {
  if (driver == nullptr) return "no NVIDIA driver on this machine";
  using Initialise = int (*)(unsigned);
  using Count = int (*)(int*);
  const auto initialise = reinterpret_cast<Initialise>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<Count>(dlsym(driver, "cuDeviceGetCount"));
  int devices = 0;
  if (initialise == nullptr || count == nullptr) return "libcuda.so.1 lacks cuInit";
  if (initialise(0) != 0 || count(&devices) != 0 || devices == 0)
    return "the NVIDIA driver finds no device";
  return {};
}

// Of device 0; "" where the driver gives none.
std::string device_name(void* driver) {
  using Name = int (*)(char*, int, int);
  const auto name = reinterpret_cast<Name>(dlsym(driver, "cuDeviceGetName"));
  std::array<char, 256> text{};
  if (name == nullptr || name(text.data(), static_cast<int>(text.size()), 0) != 0) return {};
  return text.data();
}

std::filesystem::path library_beside_torch(const char* name) {
  Dl_info info{};
  // The address of any function in libtorch_cpu.so leads to its path.
  const auto address = reinterpret_cast<const void*>(&at::get_num_threads);
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return name;
  return std::filesystem::path(info.dli_fname).parent_path() / name;
}

CudaState open_once() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  const std::string missing = why_no_device(driver);
  if (!missing.empty()) return {false, missing, {}};
  const std::filesystem::path library = library_beside_torch("libtorch_cuda.so");
  if (!std::filesystem::exists(library)) {
    return {false, library.string() + " is missing: run scripts/setup --cuda", {}};
  }
  // cuBLAS gives the same bits twice only with workspaces of its own; it looks once.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) return {false, dlerror(), {}};
  return {true, {}, device_name(driver)};
}

}  // namespace

const CudaState& open_cuda_library() {
  static const CudaState state = open_once();
  return state;
}

std::string device_uuid(int index) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return {};
  using Uuid = int (*)(char*, int);
  const auto uuid = reinterpret_cast<Uuid>(dlsym(driver, "cuDeviceGetUuid_v2"));
  std::array<char, 16> bytes{};
  return uuid == nullptr || uuid(bytes.data(), index) != 0
             ? ""
             : std::string(bytes.data(), bytes.size());
}

ModuleSymbol open_module(const std::filesystem::path& library, const char* symbol) {
  ModuleSymbol opened{nullptr, library, {}};
  std::error_code ignored;
  void* handle = nullptr;
  if (!std::filesystem::exists(library, ignored))
    opened.reason = cat(library.string(), " is missing: ",
                        library.filename() == kCudaModuleFile
                            ? "scripts/setup --nvcc, then scripts/build PRESET alibi_cuda make it"
                            : "built after scripts/setup --cuda");
  else if (handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL); handle == nullptr)
    opened.reason = dlerror();
  else if (opened.address = dlsym(handle, symbol); opened.address == nullptr)
    opened.reason = cat(library.string(), " lacks ", symbol);
  return opened;
}

ModuleSymbol open_module_beside_program(const char* file, const char* symbol) {
  const CudaState& cuda = open_cuda_library();
  if (!cuda.usable) return {nullptr, file, cuda.reason};
  const char* const folder = std::getenv("ALIBI_KERNELS");  // tests lie elsewhere
  if (folder != nullptr) return open_module(std::filesystem::path(folder) / file, symbol);
  try {
    return open_module(own_program().parent_path() / file, symbol);
  } catch (const std::filesystem::filesystem_error& error) {
    return {nullptr, file, error.what()};
  }
}

namespace {

template <class Kernels, class Module>
Kernels checked(const ModuleSymbol& symbol, const Module& expected) {
  if (symbol.address == nullptr) return {nullptr, symbol.reason};
  const Module* module = reinterpret_cast<const Module* (*)()>(symbol.address)();
  if (module->version != expected.version || module->call_bytes != expected.call_bytes)
    return {nullptr, cat(symbol.library, " is of version ", module->version,
                         ", this program expects ", expected.version, ": build both anew")};
  return {module, {}};
}

RowKernels row_kernels_of_device() {
  auto kernels = checked<RowKernels>(open_module_beside_program(kCudaModuleFile, kRowModuleSymbol),
                                     RowModule());
  if (kernels.module != nullptr && !kernels.module->runs())
    return {nullptr, "the device is older than compute capability 8.0"};
  return kernels;
}

}  // namespace

CudaKernels open_cuda_kernels(const std::filesystem::path& library) {
  return checked<CudaKernels>(open_module(library, kCudaModuleSymbol), CudaModule());
}

RowKernels open_row_kernels(const std::filesystem::path& library) {
  return checked<RowKernels>(open_module(library, kRowModuleSymbol), RowModule());
}

const CudaKernels& cuda_kernels() {
  static const CudaKernels kernels = checked<CudaKernels>(
      open_module_beside_program(kCudaModuleFile, kCudaModuleSymbol), CudaModule());
  return kernels;
}

const CudaKernels& cudnn_kernels() {
  static const CudaKernels kernels = checked<CudaKernels>(
      open_module_beside_program(kCudnnModuleFile, kCudaModuleSymbol), CudaModule());
  return kernels;
}

const RowKernels& row_kernels() {
  static const RowKernels kernels = row_kernels_of_device();
  return kernels;
}

}  // namespace alibi
