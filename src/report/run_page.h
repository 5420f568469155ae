// report.html of a run: how it goes, as one page without script, with nothing from outside.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "report/run_history.h"

namespace alibi {

// Stopped: by a signal, to be resumed.
enum class RunState { kRunning, kFinished, kStopped, kFailed };
constexpr auto enum_names(RunState) {
  return std::array{"running", "finished", "stopped", "failed"};
}

struct RunPage {
  std::string name;
  std::string updated;  // a time stamp
  RunState state = RunState::kRunning;
  std::int64_t total_tokens = 0;                              // that the run is to see
  std::vector<std::pair<std::string, std::string>> settings;  // model, parameters, device, ...
  std::vector<std::string> samples;  // text the model wrote at the last validation
  std::string config_json;
};

// Loss of training and validation, learning rate, gradient norm, throughput, memory, samples,
// settings. A running run's page refreshes itself.
std::string run_page(const RunPage& page, const RunHistory& history);

}  // namespace alibi
