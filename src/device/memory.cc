#include "device/memory.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <malloc.h>

#include <fstream>
#include <limits>
#include <new>
#include <sstream>

namespace alibi {
namespace {

constexpr const char* kStatus = "/proc/self/status";

c10::DeviceAllocator* device_allocator(torch::Device device) {
  return c10::getDeviceAllocator(device.type());
}

}  // namespace

std::int64_t proc_bytes(const std::filesystem::path& file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key + ":")) continue;
    std::istringstream fields(line.substr(key.size() + 1));
    std::int64_t kib = 0;
    fields >> kib;
    return kib * 1024;
  }
  return 0;
}

std::int64_t resident_bytes() { return proc_bytes(kStatus, "VmRSS"); }

std::int64_t peak_memory_bytes(torch::Device device) {
  if (!device.is_cuda()) return proc_bytes(kStatus, "VmHWM");
  using c10::CachingAllocator::StatType;
  const auto statistics = device_allocator(device)->getDeviceStats(device.index());
  return statistics.allocated_bytes[static_cast<std::size_t>(StatType::AGGREGATE)].peak;
}

void reset_peak_memory(torch::Device device) {
  if (device.is_cuda()) {
    device_allocator(device)->resetPeakStats(device.index());
  } else {
    std::ofstream("/proc/self/clear_refs") << "5";
  }
}

void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 64 << 20);
}

void give_back_freed_memory() { malloc_trim(0); }

void return_large_blocks() {
  mallopt(M_MMAP_MAX, 1 << 16);
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
}

bool is_out_of_memory(const std::exception& error) {
  const std::string text = error.what();
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         text.find("can't allocate memory") != std::string::npos ||
         text.find("out of memory") != std::string::npos ||
         text.find("ALLOC_FAILED") != std::string::npos ||                // cuBLAS
         text.find("ALLOCATION_FAILED") != std::string::npos ||           // cuDNN
         text.find("could not create a primitive") != std::string::npos;  // oneDNN, out of memory
}

bool is_device_failure(const std::exception& error) {
  const std::string text = error.what();
  const auto says = [&](const char* words) { return text.find(words) != std::string::npos; };
  return !is_out_of_memory(error) &&
         (says("CUDA error") || says("CUBLAS_STATUS_") || says("cuDNN error"));
}

}  // namespace alibi
