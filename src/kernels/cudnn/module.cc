// libalibi_cudnn.so: the table of device/cuda_module.h, answered by cuDNN.
#include "device/cuda_module.h"

#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "kernels/cudnn/attention_plans.h"

namespace alibi {
namespace {

namespace fe = cudnn_frontend;

thread_local std::string last_error;

// Calls come one after another, but the backward's from a thread of its own.
class Cudnn {
 public:
  static Cudnn& instance() {
    static Cudnn& cudnn = *new Cudnn;  // for good: at exit cuDNN's own parts are gone before it
    return cudnn;
  }

  std::int64_t workspace(const DeviceAttention& a, bool backward) {
    const std::lock_guard lock(mutex_);
    fe::detail::ensure_current_context(nullptr);  // the backward's thread has none of its own
    return plans_.plan(attention_shape(a, backward)).get_workspace_size();
  }

  void run(const DeviceAttention& a, bool backward, void* stream) {
    const std::lock_guard lock(mutex_);
    if (fe::detail::set_stream(handle_, static_cast<cudaStream_t>(stream)) != CUDNN_STATUS_SUCCESS)
      throw std::runtime_error("cuDNN refuses the stream");
    auto tensors = pointers(a, backward);
    CudnnGraph& graph = plans_.plan(attention_shape(a, backward));
    expect_good("to run the plan", graph.execute(handle_, tensors, a.workspace));
  }

 private:
  Cudnn() : handle_(open()), plans_({.handle = handle_}) {}

  static cudnnHandle_t open() {
    setenv("CUDNN_FRONTEND_CUDART_LIB_NAME", "libcudart.so.13", 0);  // else it tries 12 first
    open_cudnn("libcudnn.so.9");
    cudnnHandle_t handle = nullptr;
    if (fe::detail::create_handle(&handle) != CUDNN_STATUS_SUCCESS)
      throw std::runtime_error("cuDNN finds no device");
    return handle;
  }

  static std::unordered_map<std::int64_t, void*> pointers(const DeviceAttention& a, bool backward) {
    std::unordered_map<std::int64_t, void*> all;
    const auto add = [&](GraphTensor tensor, const void* data) {
      all[static_cast<std::int64_t>(tensor)] = const_cast<void*>(data);
    };
    add(GraphTensor::kQ, a.q.data);
    add(GraphTensor::kK, a.k.data);
    add(GraphTensor::kV, a.v.data);
    if (a.slopes_H != nullptr) add(GraphTensor::kSlopes, a.slopes_H);
    add(GraphTensor::kOutput, a.output.data);
    add(GraphTensor::kLse, a.lse_BHT);
    if (!backward) return all;
    add(GraphTensor::kOutputGradient, a.output_gradient.data);
    add(GraphTensor::kQGradient, a.q_gradient.data);
    add(GraphTensor::kKGradient, a.k_gradient.data);
    add(GraphTensor::kVGradient, a.v_gradient.data);
    return all;
  }

  std::mutex mutex_;
  cudnnHandle_t handle_;
  AttentionPlans plans_;
};

// No exception leaves the library: error_text gives the message of the one that became `failed`.
template <class Result, class Function>
Result guarded(Result failed, Function function) {
  try {
    return function();
  } catch (const std::exception& error) {
    last_error = error.what();
    return failed;
  }
}

std::int64_t workspace(const DeviceAttention& a, bool backward) {
  return guarded<std::int64_t>(-1, [&] { return Cudnn::instance().workspace(a, backward); });
}

int run(const DeviceAttention& a, bool backward, void* stream) {
  return guarded(1, [&] {
    Cudnn::instance().run(a, backward, stream);
    return 0;
  });
}

constexpr CudaModule kModule{
    .score_unit = 1,
    .workspace = workspace,
    .forward = [](const DeviceAttention& a, void* stream) { return run(a, false, stream); },
    .backward = [](const DeviceAttention& a, void* stream) { return run(a, true, stream); },
    .error_text = [](int) { return last_error.c_str(); }};

}  // namespace
}  // namespace alibi

extern "C" __attribute__((visibility("default"))) const alibi::CudaModule* alibi_cuda_module() {
  return &alibi::kModule;
}
