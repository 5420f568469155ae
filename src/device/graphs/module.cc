// libalibi_graphs.so: CUDA graphs as LibTorch makes them, whose allocator must know of them. Of its
// own only because LibTorch's CPU part lacks them: the program stays free of both.
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include "device/device_graph.h"

namespace alibi {
namespace {

class Graph final : public DeviceGraph {
 public:
  explicit Graph(at::MempoolId_t pool) : pool_(pool) {}
  void replay() override { graph_->replay(); }
  at::MempoolId_t pool() const { return pool_; }

  void capture(torch::Device device, const std::function<void()>& work) {
    c10::cuda::device_synchronize();  // what a capture must not wait for is done
    c10::cuda::CUDACachingAllocator::emptyCache();  // nor can memory be given back within one
    const c10::cuda::CUDAStreamGuard stream(c10::cuda::getStreamFromPool(false, device.index()));
    // Other threads, as one that saves, may ask the device for what a graph cannot hold.
    graph_->capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
    try {
      work();
      graph_->capture_end();
    } catch (...) {
      give_up(device);
      throw;
    }
  }

 private:
  // LibTorch ends no capture that failed: the stream would stay of no use, and the allocator would
  // go on asking the graph, which therefore stays.
  void give_up(torch::Device device) {
    cudaGraph_t unfinished = nullptr;
    cudaStreamEndCapture(c10::cuda::getCurrentCUDAStream(device.index()).stream(), &unfinished);
    cudaGetLastError();  // also of the call that the graph could not hold
    if (unfinished != nullptr) cudaGraphDestroy(unfinished);
    c10::cuda::CUDACachingAllocator::endAllocateToPool(device.index(), pool_);
    graph_.release();
  }

  at::MempoolId_t pool_;
  std::unique_ptr<at::cuda::CUDAGraph> graph_ = std::make_unique<at::cuda::CUDAGraph>();
};

std::unique_ptr<DeviceGraph> capture(torch::Device device, const DeviceGraph* before,
                                     const std::function<void()>& work) {
  const c10::cuda::CUDAGuard guard(device);
  auto graph = std::make_unique<Graph>(before == nullptr
                                           ? at::cuda::graph_pool_handle()
                                           : static_cast<const Graph*>(before)->pool());
  graph->capture(device, work);
  return graph;
}

}  // namespace
}  // namespace alibi

extern "C" const alibi::DeviceGraphModule* alibi_device_graph_module() {
  static const alibi::DeviceGraphModule module{.capture = alibi::capture};
  return &module;
}
