// What was opened of a library that is compiled against LibTorch's C++ classes: the program's own
// version of it, made with the program's own LibTorch.
#pragma once

#include <string_view>

#include "base/strings.h"
#include "device/cuda_library.h"

namespace alibi {

// `Module` names the versions that are expected as its defaults; `Opened` holds a module and, when
// there is none, the reason.
template <class Opened, class Module>
Opened checked_torch_module(const ModuleSymbol& symbol) {
  if (symbol.address == nullptr) return {nullptr, symbol.reason};
  const Module* const module = reinterpret_cast<const Module* (*)()>(symbol.address)();
  const Module expected;
  if (module->version == expected.version &&
      std::string_view(module->torch_version) == expected.torch_version)
    return {module, {}};
  return {nullptr, cat(symbol.library, " is of version ", module->version, " for LibTorch ",
                       module->torch_version, ", this program expects ", expected.version, " for ",
                       expected.torch_version, ": build both anew")};
}

}  // namespace alibi
