// libalibi_nccl.so: c10d's group of NCCL, which lives in LibTorch's CUDA library. Of its own only
// because LibTorch's CPU part lacks it: the program stays free of both.
#define USE_C10D_NCCL  // without it the header of NCCL's groups is empty

#include <torch/version.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <cstdlib>

#include "distributed/device_group.h"

namespace alibi {
namespace {

c10::intrusive_ptr<c10d::Backend> make_group(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                             int size, std::chrono::milliseconds /*limit*/) {
  // Every call has its own limit, and the program its own watchdog, which names the lost rank.
  // c10d's threads would write to the store, whose host may be gone, and end the process before:
  // they get nothing to do, whatever a launcher set.
  for (const char* name : {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_ENABLE_MONITORING",
                           "TORCH_NCCL_DUMP_ON_TIMEOUT"})
    ::setenv(name, "0", /*overwrite=*/1);
  const auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = std::chrono::hours(24);
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, options);
}

}  // namespace
}  // namespace alibi

extern "C" const alibi::DeviceGroupModule* alibi_device_group_module() {
  static const alibi::DeviceGroupModule module{.make = alibi::make_group};
  return &module;
}
