// Whether ranks can exchange a device's tensors without copies to the host.
#pragma once

#include <string>

namespace alibi {

struct DeviceGroupModule;

struct DeviceExchange {
  const DeviceGroupModule* module = nullptr;
  std::string reason;  // why not, where there is none
};

// libalibi_nccl.so beside the program; only after open_device() found a CUDA device.
DeviceExchange open_nccl();

// Another library of the same kind.
DeviceExchange open_device_exchange(const std::string& library);

}  // namespace alibi
