// Kernels of a device that no test may have run on it: each kind is held against its formula on a
// small problem, once in a process, before anything depends on it.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "device/tensor.h"

namespace alibi {

class FirstUse {
 public:
  // Why `kernel` ("the attention kernel cuda (heads of 64) on cuda:0") is not to be used; "": it
  // may be. The first question runs `check`, which finds what is wrong, "": nothing; others wait
  // for it, and later ones get the same answer. A kernel that is wrong, or that could not be queued
  // (`check` throws), is set aside with one warning. Memory that runs out and a device that fails
  // are thrown on and are no answer; of the latter, which may be the kernel's doing and leaves this
  // process without a device, the log says the way out.
  std::string fault(const std::string& kernel, const std::string& way_out,
                    const std::function<std::string()>& check);

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> faults_;
};

FirstUse& first_use();  // of this process

// "" where no number of `found`, on any device, is further from `expected` (fp64, on the CPU) than
// `allowed`, which is of its shape or one number; else what, by how much, and what was allowed.
std::string too_far(const char* what, const torch::Tensor& found, const torch::Tensor& expected,
                    const torch::Tensor& allowed);

}  // namespace alibi
