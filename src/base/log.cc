// The only file that sees spdlog: its Debian build uses another fmt than the one in LibTorch's
// include folder.
#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace alibi {
namespace {

constexpr const char* kForPeople = "%*%v";
constexpr const char* kJson = "%&";
constexpr const char* kDated = "%Y-%m-%dT%H:%M:%S.%eZ %l %v";

// A mutable global: a signal handler has no other way.
std::atomic<int> file_descriptor = -1;

bool as_json = false;  // stderr's lines

// What "%*" stands for. Notes need no mark, and errors end the program.
class Mark final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& to) override {
    constexpr std::string_view kWarning = "warning: ";
    if (message.level == spdlog::level::warn)
      to.append(kWarning.data(), kWarning.data() + kWarning.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<Mark>(); }
};

// What "%&" stands for.
class JsonLine final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& to) override {
    const auto level = spdlog::level::to_string_view(message.level);
    const std::string line =
        write_json({{"level", std::string_view(level.data(), level.size())},
                    {"message", std::string_view(message.payload.data(), message.payload.size())}},
                   kLogLine);
    to.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonLine>();
  }
};

std::unique_ptr<spdlog::formatter> formatter(const char* pattern) {
  auto made = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  made->add_flag<Mark>('*').add_flag<JsonLine>('&').set_pattern(pattern);
  return made;
}

// spdlog's own file sink knows neither O_CLOEXEC nor O_NOFOLLOW.
class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FileSink(const std::filesystem::path& path)
      : base_sink(formatter(kDated)), file_(std::in_place, path, OutputFile::Mode::kAppend) {
    file_descriptor = file_->descriptor();
  }
  ~FileSink() override { file_descriptor = -1; }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (!file_) return;
    spdlog::memory_buf_t lines;
    for (const std::string& text :
         split(std::string_view(message.payload.data(), message.payload.size()), '\n')) {
      spdlog::details::log_msg line = message;
      line.payload = text;
      formatter_->format(line, lines);
    }
    try {
      file_->write(std::string_view(lines.data(), lines.size()));
    } catch (const Error& error) {  // it must not end what it tells about
      file_descriptor = -1;
      file_.reset();
      std::fprintf(stderr, "warning: no more lines in the log file: %s\n", error.what());
    }
  }
  void flush_() override {}

  std::optional<OutputFile> file_;
};

spdlog::logger& logger() {
  static spdlog::logger& instance = [&]() -> spdlog::logger& {
    auto terminal = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    terminal->set_formatter(formatter(kForPeople));
    terminal->set_level(spdlog::level::info);
    auto* made = new spdlog::logger("alibi", std::move(terminal));  // never destroyed: exits log
    made->set_level(spdlog::level::debug);
    return *made;
  }();
  return instance;
}

}  // namespace

void log(LogLevel level, const std::string& text) {
  constexpr std::array kLevels = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                  spdlog::level::err};
  const std::size_t end = text.find_last_not_of('\n') + 1;  // the logger ends the line
  logger().log(kLevels[static_cast<std::size_t>(level)], spdlog::string_view_t(text.data(), end));
}

void set_log_level(const std::string& least) {
  const spdlog::level::level_enum level = spdlog::level::from_str(least);
  spdlog::sinks::sink& terminal = *logger().sinks().front();
  terminal.set_level(level);
  if (!as_json)
    terminal.set_formatter(formatter(level == spdlog::level::debug ? kDated : kForPeople));
}

void set_log_json() {
  as_json = true;
  logger().sinks().front()->set_formatter(formatter(kJson));
}

void open_log_file(const std::filesystem::path& path) {
  auto& sinks = logger().sinks();
  sinks.resize(1);
  try {
    sinks.push_back(std::make_shared<FileSink>(path));
  } catch (const Error& error) {
    log_warning(cat("no log file: ", error.what()));
  }
}

int log_file_descriptor() { return file_descriptor; }

}  // namespace alibi
