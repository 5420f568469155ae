#include "device/first_use.h"

#include "base/error.h"
#include "base/log.h"
#include "base/strings.h"
#include "device/libtorch.h"
#include "device/memory.h"

namespace alibi {

std::string FirstUse::fault(const std::string& kernel, const std::string& way_out,
                            const std::function<std::string()>& check) {
  const std::lock_guard lock(mutex_);
  if (const auto known = faults_.find(kernel); known != faults_.end()) return known->second;
  const std::string out = cat(" (", way_out, ", and report this line)");
  std::string fault;
  try {
    fault = check();
    if (!fault.empty()) fault += out;
  } catch (const std::exception& error) {
    if (is_out_of_memory(error)) throw;
    if (is_device_failure(error)) {
      log_error(cat(kernel, ": the device failed while it was checked", out));
      throw;
    }
    fault = first_line(error.what());
    if (dynamic_cast<const Error*>(&error) == nullptr) fault += out;  // an Error names its own
  }
  faults_[kernel] = fault;
  if (!fault.empty())
    log_warning(cat(kernel, " is set aside, slower code stands in for it: ", fault));
  return fault;
}

FirstUse& first_use() {
  static FirstUse first_use;
  return first_use;
}

std::string too_far(const char* what, const torch::Tensor& found, const torch::Tensor& expected,
                    const torch::Tensor& allowed) {
  const torch::Tensor off = (found.detach().cpu().to(torch::kDouble) - expected).abs().flatten();
  const torch::Tensor most = allowed.to(torch::kDouble).expand_as(expected).flatten();
  const torch::Tensor beyond = off - most;
  if (beyond.numel() == 0 || beyond.max().item<double>() <= 0) return {};  // nor is NaN right
  const auto worst = beyond.argmax().item<std::int64_t>();
  return cat(what, " is off by ", significant(off[worst].item<double>(), 3), " at element ", worst,
             ", expected at most ", significant(most[worst].item<double>(), 3));
}

}  // namespace alibi
