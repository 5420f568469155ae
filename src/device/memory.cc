#include "device/memory.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <new>

namespace alibi {
namespace {

c10::DeviceAllocator* device_allocator(torch::Device device) {
  return c10::getDeviceAllocator(device.type());
}

constexpr auto kInAll =
    static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);  // of pools

}  // namespace

std::int64_t peak_memory_bytes(torch::Device device) {
  if (!device.is_cuda()) return peak_resident_bytes();
  return device_allocator(device)->getDeviceStats(device.index()).allocated_bytes[kInAll].peak;
}

void reset_peak_memory(torch::Device device) {
  if (device.is_cuda()) {
    device_allocator(device)->resetPeakStats(device.index());
  } else {
    reset_peak_resident_bytes();
  }
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
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  return !is_out_of_memory(error) &&
         (has("CUDA error") || has("CUBLAS_STATUS_") || has("cuDNN error"));
}

MemoryLimit memory_limit(torch::Device device) {
  if (!device.is_cuda()) return memory_limit();
  c10::DeviceAllocator* const allocator = device_allocator(device);
  const auto free = static_cast<std::int64_t>(allocator->getMemoryInfo(device.index()).first);
  const std::int64_t own =
      allocator->initialized()
          ? allocator->getDeviceStats(device.index()).reserved_bytes[kInAll].current
          : 0;
  return {free + own, "free memory of the device"};
}

}  // namespace alibi
