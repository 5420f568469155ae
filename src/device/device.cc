#include "device/device.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstdlib>

#include "base/error.h"
#include "base/host.h"
#include "base/strings.h"
#include "device/cuda_library.h"
#include "device/libtorch.h"
#include "kernels/processor.h"

// Of the OpenMP that LibTorch brings; builds for a sanitizer are compiled without its header.
extern "C" [[gnu::weak]] void omp_set_num_threads(int threads);

namespace alibi {

torch::Device open_device(Device choice, int index) {
  if (choice == Device::kCpu) return torch::kCPU;
  const CudaState& cuda = open_cuda_library();
  if (cuda.usable && torch::cuda::is_available()) {
    // The same bits for the same run, as on the CPU.
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
    // Nothing is read before it is written: no need to fill it.
    at::globalContext().setDeterministicFillUninitializedMemory(false);
    const auto devices = static_cast<int>(torch::cuda::device_count());
    if (devices == 1 && std::getenv("CUDA_VISIBLE_DEVICES") != nullptr) index = 0;  // one each
    if (index >= devices) {
      throw usage_error("/runtime/device",
                        cat("process ", index, " of this machine finds ", devices,
                            " CUDA devices, expected one for each process"),
                        "start fewer processes, or use \"cpu\"");
    }
    const torch::Device device(torch::kCUDA, static_cast<c10::DeviceIndex>(index));
    // LibTorch's own operators look at their tensors; kernels of our own are queued where the
    // thread stands. LibTorch's threads for backward passes stand on their tensors' device.
    c10::impl::VirtualGuardImpl(torch::kCUDA).setDevice(device);
    return device;
  }
  if (choice == Device::kCuda) {
    const std::string reason =
        cuda.usable ? "LibTorch's CUDA library finds no device" : cuda.reason;
    throw usage_error("/runtime/device", "found cuda, but " + reason, "use \"cpu\" or \"auto\"");
  }
  return torch::kCPU;
}

Precision resolve_precision(Precision choice, torch::Device device) {
  if (choice == Precision::kTf32) {
    if (!device.is_cuda())
      throw usage_error("/runtime/precision", "found tf32, which only a CUDA device has",
                        "use \"fp32\" or \"auto\"");
    at::globalContext().setFloat32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL,
                                            at::Float32Precision::TF32);
  }
  if (choice != Precision::kAuto) return choice;
  return device.is_cuda() || cpu_has_fast_bf16() ? Precision::kBf16 : Precision::kFp32;
}

torch::ScalarType activation_type(Precision resolved) {
  ensure(resolved != Precision::kAuto, "precision is resolved before tensors are made");
  return resolved == Precision::kBf16 ? torch::kBFloat16 : torch::kFloat;
}

int set_threads(std::int64_t threads) {
  if (threads > 0) at::set_num_threads(static_cast<int>(threads));
  return at::get_num_threads();
}

void limit_threads(const std::filesystem::path& root) {
  const char* chosen = std::getenv("OMP_NUM_THREADS");
  if (chosen != nullptr && *chosen != '\0') return;
  const std::optional<std::int64_t> quota = processor_quota(root);
  if (quota && *quota < set_threads(0)) set_threads(*quota);
}

void use_one_thread_here() {
  at::get_num_threads();  // LibTorch sets a new thread's count at its first use
  if (omp_set_num_threads != nullptr) omp_set_num_threads(1);
}

bool cpu_has_fast_bf16() { return has_avx512_bf16(); }

void synchronize(torch::Device device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

void* current_stream(torch::Device device) {
  if (device.is_cpu()) return nullptr;
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device).native_handle();
}

std::string describe_precision(Precision resolved) {
  if (resolved == Precision::kBf16) return "bf16 activations, fp32 weights";
  return resolved == Precision::kTf32 ? "fp32, matrix products in tf32" : "fp32";
}

namespace {

std::string describe_processor() {
  return cat(at::get_cpu_capability(), cpu_has_fast_bf16() ? " with bf16" : "");
}

}  // namespace

std::string describe_device(torch::Device device) {
  if (device.is_cuda()) {
    const CudaKernels& kernels = cuda_kernels();
    return cat("cuda:", int{device.index()}, ", ", open_cuda_library().name, ", ",
               kernels.module != nullptr
                   ? "LibTorch and kernels of our own"
                   : cat("LibTorch alone (kernels of our own: ", kernels.reason, ")"));
  }
  return cat("cpu, ", at::get_num_threads(), " threads, ", describe_processor());
}

std::string describe_arithmetic(torch::Device device) {
  return device.is_cuda() ? "cuda" : "cpu, " + describe_processor();
}

}  // namespace alibi
