// The program's log: short lines on stderr. The only sink below commands/ and report/.
#pragma once

#include <string>

namespace alibi {

enum class LogLevel { kInfo, kWarning, kError };

void log(LogLevel level, const std::string& text);
inline void log_info(const std::string& text) { log(LogLevel::kInfo, text); }
inline void log_warning(const std::string& text) { log(LogLevel::kWarning, text); }
inline void log_error(const std::string& text) { log(LogLevel::kError, text); }

// Lines below this level are dropped. Default kInfo.
void set_log_level(LogLevel least);

}  // namespace alibi
