// Where kernels over rows of a device are queued, once their kind passed the check of its first use
// (device/first_use.h).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "device/row_module.h"
#include "device/tensor.h"

namespace alibi {

// The kernels for rows that lie on `device`; null: it has none.
const RowModule* row_module_of(torch::Device device);

// The current queue of `device`; nothing where `module` is null or `kernel`, as a message names it
// ("the dropout kernel"), is not to be used: `fault` says what is wrong with it, "": nothing.
std::optional<RowQueue> checked_row_queue(const RowModule* module, torch::Device device,
                                          const std::string& kernel,
                                          const std::function<std::string(const RowQueue&)>& fault);

}  // namespace alibi
