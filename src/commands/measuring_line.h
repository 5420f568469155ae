// Progress of what measures a model, which a stop signal ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "report/progress.h"

namespace alibi {

class MeasuringLine {
 public:
  // "evaluate" (named by the error), the line's label, "targets"; one that is not shown heeds
  // signals only.
  MeasuringLine(std::string command, std::string label, std::string unit, bool shown = true);

  // Shows the line on stderr. Throws the error of a stop once a signal came. Must not outlive this
  // object.
  std::function<void(std::int64_t done, std::int64_t total)> hook();
  void finish();

 private:
  std::string command_, label_, unit_;
  bool shown_;
  std::unique_ptr<TaskProgress> line_;
};

}  // namespace alibi
