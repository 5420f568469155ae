// How often LibTorch's operators read a number out of a tensor, or ask how many something is: on a
// device the host would wait for all that was queued.
#pragma once

#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

namespace alibi {

class NumberReads {  // of this thread, while it lives
 public:
  NumberReads() { count() = 0; }
  ~NumberReads() { at::removeCallback(handle_); }
  NumberReads(const NumberReads&) = delete;
  NumberReads& operator=(const NumberReads&) = delete;

  static int& count() {
    static thread_local int reads = 0;
    return reads;
  }

 private:
  static std::unique_ptr<at::ObserverContext> look(const at::RecordFunction& function) {
    constexpr std::array<std::string_view, 6> kReading = {
        "aten::_local_scalar_dense", "aten::nonzero",  "aten::equal",
        "aten::masked_select",       "aten::_unique2", "aten::repeat_interleave"};
    if (std::ranges::find(kReading, std::string_view(function.name())) != kReading.end()) ++count();
    return nullptr;
  }

  at::CallbackHandle handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(look).scopes({at::RecordScope::FUNCTION}));
};

}  // namespace alibi
