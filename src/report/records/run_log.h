// log.jsonl: one JSON object a line, appended as the run goes and cut back on resume. Its first
// line is {"format_version":1,"kind":"log"}; the others are records, or of kinds that are left out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/files.h"
#include "report/records/run_records.h"

namespace alibi {

using LogRecord = std::variant<StepRecord, ValidationRecord, ChangeRecord>;

struct LogLine {
  std::optional<std::int64_t> step;  // whatever the line's kind
  std::optional<LogRecord> record;   // nothing: of another kind, or not as its kind is written
};

// A line without its newline; nothing for one that is no JSON object.
std::optional<LogLine> parse_log_line(std::string_view line);

// Without a newline. JSON has no nan: non-finite numbers are the strings "nan", "inf" and "-inf".
// Invalid UTF-8 becomes U+FFFD.
std::string log_line(const LogRecord& record);

struct RunLog {
  std::vector<StepRecord> steps;
  std::vector<ValidationRecord> validations;
};

// Lines that are torn or of another kind are left out.
RunLog parse_run_log(std::string_view text);
// Of a file, which must be there. Throws Error.
RunLog read_run_log(const std::filesystem::path& path);

// The newest record's tokens by the file's last lines alone: cheap beside a running training. 0:
// none yet, or no such file.
std::int64_t read_logged_tokens(const std::filesystem::path& path);

class LogWriter {
 public:
  // Appends to `path`, which is made when missing. Throws Error when it cannot be opened.
  explicit LogWriter(const std::filesystem::path& path);
  // One write, so only the last line can be torn; after one that failed, the next record begins a
  // line of its own. The first one of an empty file comes with the head line: a file without a
  // record stays empty.
  void append(const LogRecord& record);
  void sync();  // before a checkpoint that promises these lines

 private:
  std::filesystem::path path_;
  OutputFile file_;
  std::uintmax_t bytes_;  // of what was written whole
  bool failed_ = false;   // the last write
};

// Where a log is cut off: behind the lines of a step.
struct LogEnd {
  std::int64_t step = -1;  // -1: no line of a step stays
  bool validated = true;   // else its validations go too: they are made again
};

// What stays of a log.
struct KeptLog {
  std::string text;
  RunLog log;
  std::int64_t dropped = 0;    // lines
  std::int64_t damaged = 0;    // of those: whole lines that are no JSON object
  std::int64_t last_step = 0;  // the largest that stayed
};
KeptLog cut_log_text(std::string_view text, const LogEnd& end);

// Drops the lines behind the end, so that a resumed run writes them anew; atomic. A line without an
// integer "step" shares the fate of the line before it. Lines that are no JSON object (torn by a
// crash) are dropped too. A missing file is an empty one. Nothing is written when no line is
// dropped.
KeptLog cut_log(const std::filesystem::path& path, const LogEnd& end);

}  // namespace alibi
