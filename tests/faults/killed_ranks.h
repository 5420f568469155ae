// Runs of several processes of which one is killed, stopped or told to stop.
#pragma once

#include <fstream>

#include "faults/killed_runs.h"
#include "support/children_of.h"

namespace alibi {

// Also one that nobody has waited for.
inline bool has_ended(pid_t process) {
  std::ifstream file(cat("/proc/", process, "/stat"));
  std::string all;
  if (!std::getline(file, all)) return true;
  const std::size_t name_end = all.rfind(')');
  return name_end == std::string::npos || all.substr(name_end + 2, 1) == "Z";
}

// The seconds until all have ended, `limit` where they do not; kills those.
inline double wait_for_ends(const std::vector<pid_t>& processes, double limit) {
  const double start = seconds_now();
  while (!std::ranges::all_of(processes, has_ended) && seconds_now() < start + limit)
    ::usleep(5'000);
  const double seconds = seconds_now() - start;
  for (const pid_t process : processes) {
    if (!has_ended(process)) ::kill(process, SIGKILL);
  }
  return seconds;
}

class KilledRanks : public KilledRuns {
 protected:
  // Twelve sequences a step: 1, 2 or 4 processes share four lanes, 1 or 3 share six.
  static int lanes_for(int processes) { return processes == 3 ? 6 : 4; }

  static int steps() { return is_long_form() ? 50 : 20; }
  static int tokens_of_run() { return steps() * kTokens; }

  static std::vector<std::string> changes(int lanes, const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = {"batch.sequences=3", cat("batch.lanes=", lanes),
                                    "runtime.threads=1", cat("run.train_tokens=", tokens_of_run()),
                                    cat("run.save_every_tokens=", kTokens)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  static std::vector<std::string> command_of(const std::string& run, int processes,
                                             const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = command(run, changes(lanes_for(processes), more));
    words.push_back(cat("--processes=", processes));
    return words;
  }

  // What one process alone comes to, without interruption.
  const std::string& whole_of(int lanes, const std::vector<std::string>& more = {}) {
    std::string& digest_of = wholes_[lanes];
    if (digest_of.empty()) {
      run_whole(changes(lanes, more));
      digest_of = whole_;
      forget("whole");
    }
    return digest_of;
  }

  static int drawn_of(const std::string& what, std::int64_t round, int count) {
    return static_cast<int>(drawn(what, round) * count);
  }

  static constexpr int kTokens = 192;  // of a step
  std::map<int, std::string> wholes_;  // by the number of lanes
};

}  // namespace alibi
