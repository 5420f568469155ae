#include "device/row_queue.h"

#include "base/strings.h"
#include "device/cuda_library.h"
#include "device/device.h"
#include "device/expect_queued.h"
#include "device/first_use.h"
#include "device/libtorch.h"

namespace alibi {

const RowModule* row_module_of(torch::Device device) {
  return device.is_cuda() ? row_kernels().module : nullptr;
}

std::optional<RowQueue> checked_row_queue(
    const RowModule* module, torch::Device device, const std::string& kernel,
    const std::function<std::string(const RowQueue&)>& fault) {
  if (module == nullptr) return std::nullopt;
  const RowQueue queue{module, current_stream(device)};
  const std::string found = first_use().fault(cat(kernel, " on ", device.str()), without_kernels(),
                                              [&] { return fault(queue); });
  return found.empty() ? std::optional(queue) : std::nullopt;
}

}  // namespace alibi
