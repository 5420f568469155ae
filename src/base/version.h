// The program's version, in --version, checkpoints and reports.
#pragma once

namespace alibi {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace alibi
