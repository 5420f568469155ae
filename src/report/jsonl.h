// log.jsonl: one JSON object a line, appended as the run goes and cut back on resume. Its first
// line is {"format_version":1,"kind":"log"}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/files.h"

namespace alibi {

using JsonValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;
using JsonFields = std::vector<std::pair<std::string, JsonValue>>;  // written in this order

// {"step":12,"loss":3.25} without a newline. JSON has no nan: non-finite numbers are the strings
// "nan", "inf" and "-inf". Invalid UTF-8 becomes U+FFFD. Keys must differ.
std::string json_line(const JsonFields& fields);

class JsonLines {
 public:
  // Appends to `path`, which is made when missing. Throws Error when it cannot be opened.
  explicit JsonLines(std::filesystem::path path);
  // One write, so only the last line can be torn. The first one of an empty file comes with the
  // head line: a file without a record stays empty.
  void append(const JsonFields& fields);
  void sync();  // before a checkpoint that promises these lines
  void close();

 private:
  OutputFile file_;
  bool empty_;
};

// Whole. Throws Error; a log of a line every step stays far below its limit.
std::string read_log(const std::filesystem::path& path);

// Where a log is cut off: lines of `step` stay, but for those with the key `without`.
struct LastLine {
  std::int64_t step = 0;
  std::string without = {};
};

// What truncate_after_step keeps of a log's text.
struct KeptLines {
  std::string text;
  std::int64_t dropped = 0;    // lines
  std::int64_t damaged = 0;    // of those: whole lines that are no JSON object
  std::int64_t last_step = 0;  // the largest that stayed
};
KeptLines lines_up_to_step(std::string_view log, const LastLine& last);

// Drops the lines of steps after the last one, so that a resumed run writes them anew; atomic. A
// line without an integer "step" shares the fate of the line before it. Lines that are no JSON
// object (torn by a crash) are dropped too. A missing file is an empty one. Nothing is written when
// no line is dropped.
KeptLines truncate_after_step(const std::filesystem::path& path, const LastLine& last);

}  // namespace alibi
