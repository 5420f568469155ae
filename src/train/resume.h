// What a resumed run keeps of the run that it continues, and what differs from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/state.h"

namespace alibi {

// Opens the device and resolves the precision, which depends on this machine; a resumed run keeps
// its first answer.
torch::Device resolve_machine(Config& config, bool resume);

// Sets the number of threads that the run was started with, unless runtime.threads names another:
// that sums in another order.
void resume_threads(const Config& config, const Checkpoint& resume);

// "/optimizer/learning_rate: 0.0005, was 0.001" for each key that --resume takes another value for;
// a changed batch.micro_batch_tokens overrules what memory had left of it in `progress`. Throws
// Error when the run is finished: no step is left that they could hold for.
std::vector<std::string> take_changes(const Config& config, const Checkpoint& resume, bool finished,
                                      Progress& progress);

// Stores threads, kernels and processor in the state's progress: they decide the last bits of the
// weights. "arithmetic: cpu, AVX2 ..., was cpu, AVX512 ..." where the stored ones were others.
std::optional<std::string> note_arithmetic(const Config& config, torch::Device device,
                                           TrainState& state);

}  // namespace alibi
