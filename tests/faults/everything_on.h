// A run of sixty tiny steps that uses everything a resume must carry over: scaling, accumulation,
// dropout, warm-up and decay, clipping, separate documents, z-loss, and a guard that really skips.
#pragma once

#include "train/same_end.h"

namespace alibi {

inline constexpr std::int64_t kManySteps = 60;

inline std::vector<std::string> everything_on(std::vector<std::string> changes = {}) {
  std::vector<std::string> all = {"run.train_tokens=7680",
                                  "run.save_every_tokens=1280",
                                  "run.evaluate_every_tokens=1920",
                                  "data.separate_documents=true",
                                  "guard.spikes=skip",
                                  "guard.spike_window=16",
                                  "guard.spike_deviations=1.25",
                                  "guard.z_loss=0.0001"};
  all.insert(all.end(), changes.begin(), changes.end());
  return all;
}

}  // namespace alibi
