#include "data/batch_loader.h"

#include <utility>

namespace alibi {

Batch BatchLoader::take(std::int64_t step) {
  const bool foreseen = std::exchange(next_step_, -1) == step;
  try {
    work_.wait();
  } catch (...) {
    if (foreseen) throw;  // else it belongs to a batch that nobody asked for
  }
  Batch batch = foreseen ? std::move(next_) : read_(step);
  next_step_ = step + 1;
  work_.start(true, [this, next = next_step_] { next_ = read_(next); });
  return batch;
}

}  // namespace alibi
