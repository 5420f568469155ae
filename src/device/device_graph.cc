#include "device/device_graph.h"

#include <mutex>

#include "base/strings.h"
#include "device/cuda_library.h"

namespace alibi {
namespace {

DeviceGraphs checked(const ModuleSymbol& symbol) {
  if (symbol.address == nullptr) return {nullptr, symbol.reason};
  const DeviceGraphModule* module = reinterpret_cast<DeviceGraphFunction>(symbol.address)();
  if (module->version != kDeviceGraphVersion || std::string(module->torch_version) != TORCH_VERSION)
    return {nullptr, cat(symbol.library, " is of version ", module->version, " for LibTorch ",
                         module->torch_version, ", this program expects ", kDeviceGraphVersion,
                         " for ", TORCH_VERSION, ": build both anew")};
  return {module, {}};
}

// Of the graph under capture, whose backward pass has a thread of its own.
std::mutex keeping;
std::vector<torch::Tensor>* kept_now = nullptr;

}  // namespace

const DeviceGraphs& device_graphs() {
  static const DeviceGraphs graphs =
      checked(open_module_beside_program(kDeviceGraphFile, kDeviceGraphSymbol));
  return graphs;
}

DeviceGraphs open_device_graphs(const std::string& library) {
  return checked(open_module(library, kDeviceGraphSymbol));
}

CapturedGraph capture_graph(const DeviceGraphModule& module, torch::Device device,
                            const DeviceGraph* before, const std::function<void()>& work) {
  CapturedGraph captured;
  const auto keep_in = [](std::vector<torch::Tensor>* kept) {
    const std::lock_guard lock(keeping);
    kept_now = kept;
  };
  keep_in(&captured.kept);
  try {
    captured.graph = module.capture(device, before, work);
  } catch (...) {
    keep_in(nullptr);
    throw;
  }
  keep_in(nullptr);
  return captured;
}

void keep_for_graph(const torch::Tensor& tensor) {
  const std::lock_guard lock(keeping);
  if (kept_now != nullptr) kept_now->push_back(tensor);
}

}  // namespace alibi
