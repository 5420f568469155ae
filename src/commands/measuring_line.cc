#include "commands/measuring_line.h"

#include <utility>

#include "base/stop.h"

namespace alibi {

MeasuringLine::MeasuringLine(std::string command, std::string label, std::string unit, bool shown)
    : command_(std::move(command)),
      label_(std::move(label)),
      unit_(std::move(unit)),
      shown_(shown) {}

std::function<void(std::int64_t, std::int64_t)> MeasuringLine::hook() {
  return [this](std::int64_t done, std::int64_t total) {
    leave_if_stopped(command_);
    if (!shown_) return;
    if (line_ == nullptr)
      line_ = std::make_unique<TaskProgress>(stderr, label_, static_cast<double>(total), unit_);
    line_->show(static_cast<double>(done));
  };
}

void MeasuringLine::finish() {
  if (line_ != nullptr) line_->finish();
}

}  // namespace alibi
