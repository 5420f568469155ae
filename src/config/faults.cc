#include "config/faults.h"

#include <algorithm>
#include <utility>

namespace alibi {

bool Faults::sound(std::initializer_list<const char*> pointers) const {
  return std::none_of(pointers.begin(), pointers.end(), [&](const std::string& pointer) {
    return std::any_of(faulty_.begin(), faulty_.end(), [&](const std::string& at) {
      return pointer == at || pointer.starts_with(at + "/") || at.starts_with(pointer + "/");
    });
  });
}

void Faults::add(std::string pointer, std::string problem, std::string way_out) {
  faulty_.insert(pointer);
  faults_.push_back({std::move(pointer), std::move(problem), std::move(way_out)});
}

}  // namespace alibi
