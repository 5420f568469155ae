#include "distributed/device_exchange.h"

#include <torch/version.h>

#include "base/strings.h"
#include "device/cuda_library.h"
#include "distributed/device_group.h"

namespace alibi {
namespace {

DeviceExchange checked(const ModuleSymbol& symbol) {
  if (symbol.address == nullptr) return {nullptr, symbol.reason};
  const DeviceGroupModule* module = reinterpret_cast<DeviceGroupFunction>(symbol.address)();
  if (module->version != kDeviceGroupVersion || std::string(module->torch_version) != TORCH_VERSION)
    return {nullptr, cat(symbol.library, " is of version ", module->version, " for LibTorch ",
                         module->torch_version, ", this program expects ", kDeviceGroupVersion,
                         " for ", TORCH_VERSION, ": build both anew")};
  return {module, {}};
}

}  // namespace

DeviceExchange open_nccl() {
  return checked(open_module_beside_program(kDeviceGroupFile, kDeviceGroupSymbol));
}

DeviceExchange open_device_exchange(const std::string& library) {
  return checked(open_module(library, kDeviceGroupSymbol));
}

}  // namespace alibi
