#include "distributed/device_exchange.h"

#include "device/torch_module.h"
#include "distributed/device_group.h"

namespace alibi {
namespace {

DeviceExchange checked(const ModuleSymbol& symbol) {
  return checked_torch_module<DeviceExchange, DeviceGroupModule>(symbol);
}

}  // namespace

DeviceExchange open_nccl() {
  return checked(open_module_beside_program(kDeviceGroupFile, kDeviceGroupSymbol));
}

DeviceExchange open_device_exchange(const std::string& library) {
  return checked(open_module(library, kDeviceGroupSymbol));
}

}  // namespace alibi
