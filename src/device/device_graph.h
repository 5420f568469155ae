// Work of a CUDA device that is queued again as a whole (a CUDA graph): a small model's kernels are
// done sooner than the next is queued. LibTorch's graphs live in its CUDA library, which a module
// beside the program, libalibi_graphs.so, reaches.
#pragma once

#include <torch/version.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/tensor.h"

namespace alibi {

class DeviceGraph {
 public:
  DeviceGraph() = default;
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;
  virtual ~DeviceGraph() = default;
  virtual void replay() = 0;  // queues all of it; nobody waits
};

inline constexpr int kDeviceGraphVersion = 1;
inline constexpr const char* kDeviceGraphFile = "libalibi_graphs.so";
inline constexpr const char* kDeviceGraphSymbol = "alibi_device_graph_module";

// C++ objects cross this border: the module and the program need one LibTorch and one compiler.
struct DeviceGraphModule {
  int version = kDeviceGraphVersion;
  const char* torch_version = TORCH_VERSION;
  // Calls `work` once, whose kernels are kept and not run. What memory it takes belongs to the
  // graph; tensors that outlive the call hold what the last replay wrote. With `before`, a graph
  // of the same module that is always replayed first, memory that it is done with is used again.
  // Throws what `work` throws, and c10::Error where it does what a graph cannot hold, as waiting.
  std::unique_ptr<DeviceGraph> (*capture)(torch::Device device, const DeviceGraph* before,
                                          const std::function<void()>& work) = nullptr;
};

struct DeviceGraphs {
  const DeviceGraphModule* module = nullptr;
  std::string reason;  // why not, when there is none
};

// Of the library beside the program; only after open_device() found a CUDA device.
const DeviceGraphs& device_graphs();

// A graph, and what it reads that was made before it.
struct CapturedGraph {
  std::vector<torch::Tensor> kept;
  std::unique_ptr<DeviceGraph> graph;
};

CapturedGraph capture_graph(const DeviceGraphModule& module, torch::Device device,
                            const DeviceGraph* before, const std::function<void()>& work);

// To be called with every tensor that is made once and used by later calls, whenever it is used: a
// graph under capture reads its memory at each replay, also when its owner has given it up.
void keep_for_graph(const torch::Tensor& tensor);

}  // namespace alibi
