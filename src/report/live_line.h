// One line of a terminal that is written again and again; plain lines anywhere else.
//
// Live only when the stream is a terminal that can clear a line (TERM set and not "dumb"). Colour
// only there and only without NO_COLOR (https://no-color.org: set and not empty). One thread at a
// time. Nothing here throws: a closed pipe or a full disk must not end a training run.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace alibi {

struct LiveOptions {
  enum class Style { kAuto, kLive, kPlain };
  Style style = Style::kAuto;
  double live_seconds = 0.1;  // least time between two redraws
  double plain_seconds = 20;  // least time between two plain lines; 0: every call
};

// A part of a line; where the terminal is too narrow the parts of highest `rank` go first.
struct LivePart {
  std::string text;
  int rank = 0;
};

class LiveLine {
 public:
  explicit LiveLine(std::FILE* out, LiveOptions options = {});
  ~LiveLine();  // finish()
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  bool live() const noexcept { return live_; }
  // True when the next show() would write: callers skip composing a line otherwise.
  bool due() const noexcept;
  // Shows the line now if due, else keeps it for finish().
  void show(const std::vector<LivePart>& parts) noexcept;
  // Clears the live line so that other output may follow; the next show() draws it again at once.
  void interrupt() noexcept;
  // Writes the newest line if it was not, and ends it. show() may follow and starts a new line.
  void finish() noexcept;

 private:
  void write(const std::vector<LivePart>& parts);

  std::FILE* out_;
  LiveOptions options_;
  bool live_ = false;
  bool colour_ = false;
  bool drawn_ = false;             // a live line stands on the screen
  double last_ = -1e300;           // when the last line was written
  std::vector<LivePart> waiting_;  // the newest line, while not written
};

// Joins the parts by two spaces, leaving out parts of highest rank until it fits, then cutting.
std::string fit_parts(std::vector<LivePart> parts, std::size_t columns);

}  // namespace alibi
