// The only file that sees spdlog: its Debian build uses another fmt than the one in LibTorch's
// include folder.
#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace alibi {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("alibi",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    return made;
  }();
  return *instance;
}

const char* prefix(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "";
    case LogLevel::kWarning:
      return "warning: ";
    case LogLevel::kError:
      return "error: ";
  }
  return "";
}

}  // namespace

void log(LogLevel level, const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n') + 1;  // the logger ends the line
  logger().log(spdlog_level(level), prefix(level) + text.substr(0, end));
}

void set_log_level(LogLevel least) { logger().set_level(spdlog_level(least)); }

}  // namespace alibi
