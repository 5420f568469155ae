// A tensor that is made on the host, and no part of a module, where it is used.
#pragma once

#include <mutex>
#include <utility>

#include "device/device_graph.h"
#include "device/tensor.h"

namespace alibi {

class MovedTensor {
 public:
  explicit MovedTensor(torch::Tensor here) : tensor_(std::move(here)) {}
  // Copied only where it was last asked for elsewhere: a device is waited for.
  torch::Tensor on(torch::Device device) const {
    const std::lock_guard lock(mutex_);
    if (tensor_.device() != device) tensor_ = tensor_.to(device);
    keep_for_graph(tensor_);
    return tensor_;
  }

 private:
  mutable std::mutex mutex_;  // a backward pass that computes again has its own thread
  mutable torch::Tensor tensor_;
};

}  // namespace alibi
