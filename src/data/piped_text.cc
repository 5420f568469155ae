#include "data/piped_text.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/stop.h"
#include "text/documents.h"

namespace alibi {
namespace {

constexpr const char* kName = "standard input";
constexpr std::size_t kPart = std::size_t{1} << 20;
constexpr int kWait = 200;  // milliseconds

// Appends what comes next; false at the end. Waits in poll, since a signal does not end a read of
// an idle pipe (SA_RESTART in base/stop.cc), and a pipe that does not block has no read that waits.
bool read_part(int descriptor, std::string& text) {
  const std::size_t before = text.size();
  text.resize(before + kPart);
  while (true) {
    leave_if_stopped("prepare");
    pollfd pipe{descriptor, POLLIN, 0};
    const int ready = ::poll(&pipe, 1, kWait);
    if (ready == 0) continue;
    const ssize_t got = ready < 0 ? ready : ::read(descriptor, text.data() + before, kPart);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) throw Error(kName, std::string("cannot be read: ") + std::strerror(errno));
    text.resize(before + static_cast<std::size_t>(got));
    return got > 0;
  }
}

}  // namespace

PipedText::PipedText(int descriptor, std::filesystem::path file,
                     const std::function<void(std::int64_t bytes)>& progress)
    : file_(std::move(file)), lock_(file_, "text of a pipe") {
  try {
    read(descriptor, progress);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
    throw;
  }
}

PipedText::~PipedText() {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

void PipedText::read(int descriptor, const std::function<void(std::int64_t bytes)>& progress) {
  OutputFile out(file_);
  std::int64_t bytes = 0;
  const NextPart more = [&](std::string& text) {
    const std::size_t before = text.size();
    if (!read_part(descriptor, text)) return false;
    out.write(std::string_view(text).substr(before));
    bytes += static_cast<std::int64_t>(text.size() - before);
    if (progress) progress(bytes);
    return true;
  };
  for_each_line(more, kName, [](const DocumentView&) { return true; });
  if (bytes == 0)
    throw Error(kName, "is empty", "one JSON object a line, such as {\"text\": \"...\"}");
  out.close();
}

}  // namespace alibi
