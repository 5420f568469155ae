#include "device/device_graph.h"

#include <mutex>

#include "device/torch_module.h"

namespace alibi {
namespace {

// Of the graph under capture, whose backward pass has a thread of its own.
std::mutex keeping;
std::vector<torch::Tensor>* kept_now = nullptr;

}  // namespace

const DeviceGraphs& device_graphs() {
  static const auto graphs = checked_torch_module<DeviceGraphs, DeviceGraphModule>(
      open_module_beside_program(kDeviceGraphFile, kDeviceGraphSymbol));
  return graphs;
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
