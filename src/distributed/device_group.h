// What moves a device's tensors between ranks: a c10d backend from libalibi_nccl.so (NCCL), built
// where nccl.h is and opened at run time. links.cc alone asks for it.
#pragma once

#include <torch/version.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <string>

#include "distributed/device_exchange.h"

namespace alibi {

inline constexpr int kDeviceGroupVersion = 1;
inline constexpr const char* kDeviceGroupFile = "libalibi_nccl.so";
inline constexpr const char* kDeviceGroupSymbol = "alibi_device_group_module";

// C++ objects cross this border: the module and the program need one LibTorch and one compiler.
struct DeviceGroupModule {
  int version = kDeviceGroupVersion;
  const char* torch_version = TORCH_VERSION;
  // Connects nothing yet: that is done by the first exchange. Throws std::exception.
  c10::intrusive_ptr<c10d::Backend> (*make)(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                            int size, std::chrono::milliseconds limit) = nullptr;
};

}  // namespace alibi
