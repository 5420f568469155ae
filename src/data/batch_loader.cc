#include "data/batch_loader.h"

#include <system_error>
#include <utility>

namespace alibi {

Batch BatchLoader::take(std::int64_t step) {
  std::future<Batch> ready = std::move(next_);
  const bool foreseen = ready.valid() && next_step_ == step;
  if (ready.valid() && !foreseen) ready.wait();
  Batch batch = foreseen ? ready.get() : read_(step);
  next_step_ = step + 1;
  try {
    next_ = std::async(std::launch::async, read_, next_step_);
  } catch (const std::system_error&) {  // no thread to be had: it is read when it is asked for
    next_ = {};
  }
  return batch;
}

}  // namespace alibi
