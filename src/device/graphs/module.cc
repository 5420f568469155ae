// libalibi_graphs.so: CUDA graphs as LibTorch makes them, whose allocator must know of them. Of its
// own only because LibTorch's CPU part lacks them: the program stays free of both.
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include "device/device_graph.h"

namespace alibi {
namespace {

class Graph final : public DeviceGraph {
 public:
  Graph(at::MempoolId_t pool, c10::cuda::CUDAStream stream) : pool_(pool), stream_(stream) {}
  void replay() override { graph_.replay(); }
  at::MempoolId_t pool() const { return pool_; }
  c10::cuda::CUDAStream stream() const { return stream_; }

  void capture(const std::function<void()>& work) {
    c10::cuda::device_synchronize();                // what a capture must not wait for is done
    c10::cuda::CUDACachingAllocator::emptyCache();  // nor can memory be given back within one
    const c10::cuda::CUDAStreamGuard guard(stream_);
    // Other threads, as one that saves, may ask the device for what a graph cannot hold.
    try {
      graph_.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
      work();
      graph_.capture_end();
    } catch (...) {
      give_up();
      throw;
    }
  }

 private:
  // LibTorch ends no capture that failed: the stream would stay of no use, and the allocators would
  // keep the graph's memory and go on asking it.
  void give_up() {
    cudaGraph_t unfinished = nullptr;
    cudaStreamEndCapture(stream_.stream(), &unfinished);
    cudaGetLastError();  // also of the call that the graph could not hold
    if (unfinished != nullptr) cudaGraphDestroy(unfinished);
    try {
      c10::cuda::CUDACachingAllocator::endAllocateToPool(stream_.device_index(), pool_);
    } catch (const c10::Error&) {
      return;  // it was ended: the graph gives back what it has when it goes
    }
    c10::cuda::CUDACachingAllocator::releasePool(stream_.device_index(), pool_);
    at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(pool_);
    at::getHostAllocator(at::kCUDA)->release_pool(pool_);
  }

  at::MempoolId_t pool_;
  c10::cuda::CUDAStream stream_;  // free memory is used again by the stream that had it
  at::cuda::CUDAGraph graph_;
};

std::unique_ptr<DeviceGraph> capture(torch::Device device, const DeviceGraph* before,
                                     const std::function<void()>& work) {
  const c10::cuda::CUDAGuard guard(device);
  const auto* const first = static_cast<const Graph*>(before);
  auto graph = first != nullptr
                   ? std::make_unique<Graph>(first->pool(), first->stream())
                   : std::make_unique<Graph>(at::cuda::graph_pool_handle(),
                                             c10::cuda::getStreamFromPool(false, device.index()));
  graph->capture(work);
  return graph;
}

}  // namespace
}  // namespace alibi

extern "C" const alibi::DeviceGraphModule* alibi_device_graph_module() {
  static const alibi::DeviceGraphModule module{.capture = alibi::capture};
  return &module;
}
