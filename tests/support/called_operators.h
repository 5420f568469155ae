// Which of LibTorch's operators a piece of work calls, by name, and how often it reads a number out
// of a tensor, for which the host would wait on a device. Copies to the host are not seen where the
// tensors are the host's already.
#pragma once

#include <ATen/record_function.h>

#include <map>
#include <memory>
#include <string>

namespace alibi {

class CalledOperators {  // of this thread, from here until the end of its life; one at a time
 public:
  CalledOperators() { counts().clear(); }
  ~CalledOperators() { at::removeCallback(handle_); }
  CalledOperators(const CalledOperators&) = delete;
  CalledOperators& operator=(const CalledOperators&) = delete;

  int of(const std::string& name) const {
    const auto found = counts().find("aten::" + name);
    return found == counts().end() ? 0 : found->second;
  }
  int number_reads() const {
    return of("_local_scalar_dense") + of("nonzero") + of("equal") + of("masked_select") +
           of("_unique2") + of("repeat_interleave");
  }

 private:
  static std::map<std::string, int>& counts() {
    static thread_local std::map<std::string, int> all;
    return all;
  }
  static std::unique_ptr<at::ObserverContext> look(const at::RecordFunction& function) {
    ++counts()[function.name()];
    return nullptr;
  }

  at::CallbackHandle handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(look).scopes({at::RecordScope::FUNCTION}));
};

}  // namespace alibi
