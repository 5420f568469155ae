// Which processor a run uses, how many threads, which precision.
#pragma once

#include <filesystem>
#include <string>

#include "config/config.h"
#include "device/tensor.h"

namespace alibi {

// Opens CUDA when asked for (cuda) or when it is there (auto); of several devices the one with this
// index. Throws Error when `cuda` cannot be had.
torch::Device open_device(Device choice, int index = 0);

// auto -> bf16 where the processor multiplies bf16 fast, else fp32; others unchanged. From tf32 on,
// LibTorch's products on a CUDA device are rounded so; throws Error where there is none.
Precision resolve_precision(Precision choice, torch::Device device);

torch::ScalarType activation_type(Precision resolved);  // kFloat or kBFloat16

// threads > 0 sets LibTorch's count; 0 keeps it: OMP_NUM_THREADS, else all cores, or as many as a
// container grants. Returns the count in force.
int set_threads(std::int64_t threads);

// Once, at start: no more threads than processor_quota(root), where OMP_NUM_THREADS does not
// choose.
void limit_threads(const std::filesystem::path& root = "/");

// Loops of the calling thread run on it alone, those of other threads as before: OpenMP would start
// a second team for it on the cores that the first works on.
void use_one_thread_here();

// What of it decides the last bits of a result: "cpu, AVX512 with bf16".
std::string describe_arithmetic(torch::Device device);
std::string describe_device(torch::Device device);  // "cpu, 2 threads, AVX-512 bf16"

std::string describe_precision(Precision resolved);

// Returns when all that is queued on the device is done; at once on the CPU.
void synchronize(torch::Device device);

// LibTorch's current stream on a CUDA device, for kernels that LibTorch does not know; null on the
// CPU.
void* current_stream(torch::Device device);

// True where avx512_bf16 is there: the test of Precision::kAuto.
bool cpu_has_fast_bf16();

}  // namespace alibi
