#include "report/live_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/clock.h"
#include "base/printable.h"
#include "base/strings.h"
#include "report/table.h"

namespace alibi {
namespace {

constexpr char kStartAndClear[] = "\r\x1b[K";
constexpr char kBold[] = "\x1b[1m";
constexpr char kPlain[] = "\x1b[0m";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool can_redraw(std::FILE* out) {
  const std::string term = environment("TERM");
  return ::isatty(::fileno(out)) == 1 && !term.empty() && term != "dumb";
}

// The first `columns` code points of `text`.
std::string cut(const std::string& text, std::size_t columns) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!inside_character(text[i]) && seen++ == columns) return text.substr(0, i);
  }
  return text;
}

std::string joined(const std::vector<LivePart>& parts) {
  std::string text;
  for (const LivePart& part : parts) {
    if (!text.empty() && !part.text.empty()) text += "  ";
    text += part.text;
  }
  return printable(text);
}

// Columns of the terminal behind `out`: ioctl, else $COLUMNS, else 80.
std::size_t terminal_columns(std::FILE* out) noexcept {
  winsize size{};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* given = std::getenv("COLUMNS");
  const long columns = given == nullptr ? 0 : std::strtol(given, nullptr, 10);
  return columns > 0 && columns < 10000 ? static_cast<std::size_t>(columns) : 80;
}

}  // namespace

std::string fit_parts(std::vector<LivePart> parts, std::size_t columns) {
  std::string text = joined(parts);
  while (display_width(text) > columns && parts.size() > 1) {
    const auto least = std::max_element(
        parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    if (least->rank == 0) break;
    parts.erase(least);
    text = joined(parts);
  }
  return cut(text, columns);
}

LiveLine::LiveLine(std::FILE* out, LiveOptions options) : out_(out), options_(options) {
  live_ = options.style == LiveOptions::Style::kAuto ? can_redraw(out)
                                                     : options.style == LiveOptions::Style::kLive;
  colour_ = live_ && environment("NO_COLOR").empty();
}

LiveLine::~LiveLine() { finish(); }

bool LiveLine::due() const noexcept {
  return seconds_now() - last_ >= (live_ ? options_.live_seconds : options_.plain_seconds);
}

void LiveLine::write(const std::vector<LivePart>& parts) {
  std::string text;
  if (live_) {
    // The last column stays free: writing into it makes some terminals wrap.
    const std::string line = fit_parts(parts, std::max<std::size_t>(terminal_columns(out_), 2) - 1);
    const std::size_t head = parts.empty() ? 0 : std::min(parts.front().text.size(), line.size());
    text = kStartAndClear;
    text += colour_ ? cat(kBold, line.substr(0, head), kPlain, line.substr(head)) : line;
  } else {
    text = joined(parts) + "\n";
  }
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
  drawn_ = live_;
  last_ = seconds_now();
}

void LiveLine::show(const std::vector<LivePart>& parts) noexcept {
  try {
    if (due()) {
      write(parts);
      waiting_.clear();
    } else {
      waiting_ = parts;
    }
  } catch (...) {  // out of memory: the line is lost, the run is not
  }
}

void LiveLine::interrupt() noexcept {
  if (!drawn_) return;
  std::fputs(kStartAndClear, out_);
  std::fflush(out_);
  drawn_ = false;
  last_ = -1e300;
}

void LiveLine::finish() noexcept {
  try {
    if (!waiting_.empty()) write(waiting_);
    waiting_.clear();
  } catch (...) {  // as in show()
  }
  if (drawn_) {
    std::fputs("\n", out_);
    std::fflush(out_);
  }
  drawn_ = false;
  last_ = -1e300;
}

}  // namespace alibi
