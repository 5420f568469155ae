// Where time goes inside LibTorch: seconds by part of a training step, counted by LibTorch's own
// operator records.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace alibi {

// Collects from construction to destruction, one at a time in a process. An operator's own time,
// without that of operators it calls, goes to the part it belongs to; all within a scope named
// "alibi::NAME" goes to NAME.
class OperatorTimes {
 public:
  OperatorTimes();
  ~OperatorTimes();
  OperatorTimes(const OperatorTimes&) = delete;
  OperatorTimes& operator=(const OperatorTimes&) = delete;

  const std::map<std::string, double>& parts() const { return parts_; }  // seconds
  void add(const std::string& part, double seconds) { parts_[part] += seconds; }

 private:
  std::uint64_t handle_;
  std::map<std::string, double> parts_;
};

}  // namespace alibi
