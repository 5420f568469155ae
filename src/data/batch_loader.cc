#include "data/batch_loader.h"

#include <utility>

namespace alibi {

Batch BatchLoader::take(std::int64_t step) {
  std::future<Batch> ready = std::move(next_);
  const bool foreseen = ready.valid() && next_step_ == step;
  if (ready.valid() && !foreseen) ready.wait();
  Batch batch = foreseen ? ready.get() : read_(step);
  next_step_ = step + 1;
  next_ = std::async(std::launch::async, read_, next_step_);
  return batch;
}

}  // namespace alibi
