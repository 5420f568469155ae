#include "bench/timing.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/stop.h"

namespace alibi {
namespace {

Timing summarise(std::vector<double> seconds) {
  ensure(!seconds.empty(), "there is something measured");
  std::sort(seconds.begin(), seconds.end());
  const std::size_t middle = seconds.size() / 2;
  const double median =
      seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  return {median, seconds.front(), seconds.back(), static_cast<int>(seconds.size())};
}

void call(const std::function<void()>& function) {
  leave_if_stopped("bench");
  function();
}

}  // namespace

std::vector<Timing> time_in_turns(const std::vector<std::function<void()>>& functions,
                                  const Rounds& rounds) {
  for (int i = 0; i < rounds.warmup; ++i)
    for (const auto& function : functions) call(function);
  std::vector<std::vector<double>> seconds(functions.size());
  const double start = seconds_now();
  for (int i = 0; i < rounds.most; ++i) {
    if (i >= rounds.least && seconds_now() - start > rounds.seconds) break;
    for (std::size_t f = 0; f < functions.size(); ++f) {
      const double before = seconds_now();
      call(functions[f]);
      seconds[f].push_back(seconds_now() - before);
    }
  }
  std::vector<Timing> timings;
  for (auto& of_one : seconds) timings.push_back(summarise(std::move(of_one)));
  return timings;
}

}  // namespace alibi
