// The attention kernels of attention.cu, as nvcc compiled them, launched over a DeviceExample as
// attention.cu launches them.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "kernels/cuda/device_example.h"
#include "kernels/cuda/ptx/compiled_ptx.h"
#include "kernels/cuda/ptx/ptx_machine.h"

namespace alibi {

// Of attention.cu.
const CompiledPtx& compiled_attention();

enum class AttentionKernel {
  kNorms,
  kReach,
  kForward,
  kDelta,
  kQueryGradient,
  kKeyGradient,
  kDistanceGradient
};

// Of heads of this width and biases of this kind, which do not matter to the first two and to
// kDelta.
std::string ptx_of(AttentionKernel kernel, int width, BiasKind kind = BiasKind::kSlopes);

// One problem in a device's memory, its rows as in LibTorch's tensors: (B, T, H, W).
class PtxAttention {
 public:
  struct Options {
    float threshold = -1;  // of the skip test
    unsigned seed = 0;     // PtxLaunch::seed
    // What a test puts in a kernel's place.
    AttentionKernel changed = AttentionKernel::kForward;
    std::string instead = {};
  };
  PtxAttention(DeviceExample& example, const Options& options);

  // Each fills its results in the example, and throws unless every byte of them was written.
  void run_forward();  // with the keys' norms and reach where there is a threshold
  void run_backward();

  const std::vector<std::int32_t>& first_blocks() const { return first_; }
  std::vector<float> reach() const;
  const PtxCounts& counts(AttentionKernel kernel) const { return counts_.at(kernel); }

 private:
  DeviceRows put_input(const std::string& name, DeviceTensor& tensor, int heads, int length);
  DeviceRows put_result(const std::string& name, int heads, int length);
  void put_biases();
  template <class T>
  T* put_numbers(const std::string& name, const std::vector<T>& numbers);
  template <class T>
  T* put_results(const std::string& name, std::size_t count);
  void get(const DeviceRows& from, DeviceTensor& to, int heads, int length) const;
  template <class T>
  void get(const T* from, std::vector<T>& to) const;
  void launch(AttentionKernel kernel, const KernelGrid& grid, int warps, int shared_bytes,
              const float* second = nullptr);

  DeviceExample& example_;
  Options options_;
  GlobalMemory memory_;
  DeviceAttention a_;
  float* reach_ = nullptr;
  std::vector<std::int32_t> first_;
  std::map<AttentionKernel, PtxCounts> counts_;
};

}  // namespace alibi
