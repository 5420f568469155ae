// A run's events on their way from the trainer to whoever shows or stores them.
#pragma once

#include <functional>
#include <vector>

#include "config/training_config.h"
#include "report/records/run_records.h"

namespace alibi {

class Sink {
 public:
  virtual ~Sink() = default;
  // Throws where an event that must be stored is not.
  virtual void take(const Event& event) = 0;
  // Makes what was taken durable.
  virtual void sync() {}
};

class Emitter {
 public:
  explicit Emitter(FailedSave on_failure) : on_failure_(on_failure) {}
  // They see events in this order, and outlive the emissions.
  void set_sinks(std::vector<Sink*> sinks) { sinks_ = std::move(sinks); }

  // A sink that fails ends the run, or, by guard.failed_save, is a SaveFailure.
  void emit(const Event& event);
  void sync();
  // Does a write under the same rule. False where it failed and the run goes on.
  bool attempt(const std::function<void()>& write);

 private:
  FailedSave on_failure_;
  std::vector<Sink*> sinks_;
};

}  // namespace alibi
