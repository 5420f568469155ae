#include "train/agreement.h"

#include <algorithm>

#include "base/stop.h"

namespace alibi {

int Agreement::stop_signal() const { return world_.is_alone() ? alibi::stop_signal() : stop_; }

std::optional<std::vector<double>> Agreement::gather(const std::optional<std::vector<double>>& mine,
                                                     std::size_t count) {
  if (world_.is_alone()) return mine;
  std::vector<double> message{mine ? 1.0 : 0.0, static_cast<double>(alibi::stop_signal())};
  if (mine) message.insert(message.end(), mine->begin(), mine->end());
  message.resize(2 + count);
  bool all = true;
  std::vector<double> numbers;
  for (const std::vector<double>& theirs : world_.gather(message)) {
    all = all && theirs[0] != 0;
    if (stop_ == 0) stop_ = static_cast<int>(theirs[1]);
    numbers.insert(numbers.end(), theirs.begin() + 2, theirs.end());
  }
  if (!all) return std::nullopt;
  return numbers;
}

bool Agreement::everywhere(bool here) {
  return gather(here ? std::optional(std::vector<double>()) : std::nullopt, 0).has_value();
}

bool Agreement::as_first(bool here) {
  return world_.is_alone() ? here : gather(std::vector<double>{here ? 1.0 : 0.0}, 1)->front() != 0;
}

std::int64_t Agreement::least(std::int64_t here) {
  const auto all = gather(std::vector<double>{static_cast<double>(here)}, 1);
  return static_cast<std::int64_t>(*std::min_element(all->begin(), all->end()));
}

}  // namespace alibi
