// Where time goes inside LibTorch: seconds by part of a training step, counted by LibTorch's own
// operator records.
#pragma once

#include <map>
#include <string>

namespace alibi {

struct PartTime {
  double seconds = 0;
  std::int64_t calls = 0;
};

// Collects from construction to destruction, one at a time in a process. An operator's own time,
// without that of operators it calls, goes to the part it belongs to; all within a scope named
// "alibi::NAME" goes to NAME.
class OperatorTimes {
 public:
  OperatorTimes();
  ~OperatorTimes();
  OperatorTimes(const OperatorTimes&) = delete;
  OperatorTimes& operator=(const OperatorTimes&) = delete;

  const std::map<std::string, PartTime>& parts() const { return parts_; }
  const std::map<std::string, PartTime>& operators() const { return operators_; }
  void add(const std::string& part, const std::string& name, double seconds);

 private:
  std::uint64_t handle_;
  std::map<std::string, PartTime> parts_, operators_;
};

}  // namespace alibi
