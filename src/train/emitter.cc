#include "train/emitter.h"

#include <exception>

namespace alibi {

void Emitter::emit(const Event& event) {
  for (Sink* sink : sinks_) attempt([&] { sink->take(event); });
}

void Emitter::sync() {
  for (Sink* sink : sinks_) attempt([&] { sink->sync(); });
}

bool Emitter::attempt(const std::function<void()>& write) {
  try {
    write();
    return true;
  } catch (const std::exception& error) {
    if (on_failure_ == FailedSave::kStop) throw;
    const Event failure = SaveFailure{error.what()};
    for (Sink* sink : sinks_) sink->take(failure);
    return false;
  }
}

}  // namespace alibi
