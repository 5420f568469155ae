// What a resumed run keeps of the run that it continues, and what differs from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "distributed/world.h"
#include "train/state.h"

namespace alibi {

// Opens this rank's device and resolves what depends on machine and launcher, precision and lanes;
// a resumed run keeps its first answer, and the tokens that were found for run.train_seconds.
// Throws Error (exit code 2) where so many processes cannot share the lanes.
void resolve_machine(Config& config, bool resume, const WorldPlace& place);

// Sets the number of threads that the run was started with, unless runtime.threads names another:
// that sums in another order.
void resume_threads(const Config& config, const Checkpoint& resume, const World& world);

// "/optimizer/learning_rate: 0.0005, was 0.001" for each key that --resume takes another value for;
// a changed batch.micro_batch_tokens overrules what memory had left of it in `progress`. Throws
// Error when the run is finished: no step is left that they could hold for.
std::vector<std::string> take_changes(const Config& config, const Checkpoint& resume, bool finished,
                                      Progress& progress);

// Whether a deadline ended the run, and run.train_seconds names no later one now.
bool deadline_holds(const Config& config, const Checkpoint& resume);

// Stores threads, kernels and processor in the state's progress: they decide the last bits of the
// weights. "arithmetic: cpu, AVX2 ..., was cpu, AVX512 ..." where the stored ones were others.
std::optional<std::string> note_arithmetic(const Config& config, torch::Device device,
                                           TrainState& state);

}  // namespace alibi
