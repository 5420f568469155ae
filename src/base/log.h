// The program's log: short lines on stderr, and all of them with time and level in a file, once one
// is open. The only sink below commands/ and report/.
#pragma once

#include <filesystem>
#include <string>

namespace alibi {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

void log(LogLevel level, const std::string& text);
inline void log_debug(const std::string& text) { log(LogLevel::kDebug, text); }
inline void log_info(const std::string& text) { log(LogLevel::kInfo, text); }
inline void log_warning(const std::string& text) { log(LogLevel::kWarning, text); }
inline void log_error(const std::string& text) { log(LogLevel::kError, text); }

// What stderr shows: "debug" (then with time and level), "info" (default), "warning" or "error".
void set_log_level(const std::string& least);

// stderr then shows {"level": "info", "message": "..."}, an object a line.
void set_log_json();

// Appends lines of every level to a file, from now to the end of the process. A file that cannot be
// written, or not any more, costs one warning. Not to be called while another thread logs.
void open_log_file(const std::filesystem::path& path);
// -1: none. For signal handlers, which may write to it but not log.
int log_file_descriptor();

}  // namespace alibi
