// JSON lines from a pipe, kept in a file while they are prepared: text is read more than once, and
// a pipe is not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/files.h"

namespace alibi {

class PipedText {
 public:
  // Reads `descriptor` to its end into `file`, which must end in .jsonl, is locked and is removed
  // with this object; what a killed process left there is written over. Every line is checked as it
  // comes (text/documents.h); memory holds one part and one line. `progress` gets the bytes so far.
  // Throws Error headed by "standard input", with the line's number where one is no document, and
  // where nothing came; at "prepare" when a signal asks to stop, soon also where the pipe is idle;
  // LockHeld while another process uses the file.
  PipedText(int descriptor, std::filesystem::path file,
            const std::function<void(std::int64_t bytes)>& progress = {});
  ~PipedText();
  PipedText(const PipedText&) = delete;
  PipedText& operator=(const PipedText&) = delete;

  const std::filesystem::path& file() const { return file_; }

 private:
  void read(int descriptor, const std::function<void(std::int64_t bytes)>& progress);

  std::filesystem::path file_;
  FileLock lock_;
};

}  // namespace alibi
