#include "device/device.h"

#include "base/error.h"
#include "base/strings.h"
#include "device/cuda_library.h"
#include "kernels/processor.h"

namespace alibi {

torch::Device open_device(Device choice) {
  if (choice == Device::kCpu) return torch::kCPU;
  const CudaState& cuda = open_cuda_library();
  if (cuda.usable && torch::cuda::is_available()) return {torch::kCUDA, 0};
  if (choice == Device::kCuda) {
    const std::string reason =
        cuda.usable ? "LibTorch's CUDA library finds no device" : cuda.reason;
    throw usage_error("/runtime/device", "found cuda, but " + reason, "use \"cpu\" or \"auto\"");
  }
  return torch::kCPU;
}

Precision resolve_precision(Precision choice, torch::Device device) {
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

bool cpu_has_fast_bf16() { return has_avx512_bf16(); }

namespace {

std::string processor_words() {
  return cat(at::get_cpu_capability(), cpu_has_fast_bf16() ? " with bf16" : "");
}

}  // namespace

std::string describe_device(torch::Device device) {
  if (device.is_cuda()) return cat("cuda:", int{device.index()}, " through LibTorch");
  return cat("cpu, ", at::get_num_threads(), " threads, ", processor_words());
}

std::string describe_arithmetic(torch::Device device) {
  return device.is_cuda() ? "cuda" : "cpu, " + processor_words();
}

}  // namespace alibi
