// The program's version and the revision of its arithmetic.
#pragma once

namespace alibi {

inline constexpr const char* kVersion = "0.1.0";  // in --version and reports

// Raised, above those of all position methods (config/position/methods.h), only when a change of
// the program changes the bits of every run's weights. Checkpoints store it: a run is resumed by
// any program version of the same revision.
inline constexpr int kArithmeticRevision = 1;

}  // namespace alibi
