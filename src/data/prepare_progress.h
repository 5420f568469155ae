// What preparing text reports while it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace alibi {

// Either function may be empty.
struct PrepareProgress {
  std::function<void(const std::string&)> note;                      // a line for people
  std::function<void(std::int64_t done, std::int64_t total)> bytes;  // of text tokenised

  void say(const std::string& line) const {
    if (note) note(line);
  }
};

}  // namespace alibi
