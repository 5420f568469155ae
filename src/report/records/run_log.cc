#include "report/records/run_log.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/error.h"
#include "base/json/parse.h"
#include "base/json/write.h"
#include "base/overloaded.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;

struct LogHead {};

template <class Fields>
void fields(Fields& f, LogHead&) {
  f.format({.kind = "log"});
}

constexpr std::uint64_t kLargestLog = 8ull << 30;  // a line a step stays far below it

std::optional<LogRecord> record_of(const Json& json) {
  const JsonReader line(json, "log line");
  try {
    if (json.find("validation_loss") != nullptr) return read_record<ValidationRecord>(line);
    if (json.find("loss") != nullptr) return read_record<StepRecord>(line);
    if (json.find("changed") != nullptr) return read_record<ChangeRecord>(line);
  } catch (const Error&) {  // a log is read as far as it can be
  }
  return std::nullopt;
}

template <class R>
std::string line_of(const R& record) {
  return write_json(to_json(record), kLogLine);
}

void add(RunLog& log, const std::optional<LogRecord>& record) {
  if (!record) return;
  std::visit(Overloaded{[&](const StepRecord& step) { log.steps.push_back(step); },
                        [&](const ValidationRecord& v) { log.validations.push_back(v); },
                        [](const ChangeRecord&) {}},
             *record);
}

// Throws Error where the head line is that of another file or of a newer format.
void check_head(std::string_view text, const std::string& place) {
  std::vector<JsonFault> faults;
  const auto head = parse_json(text.substr(0, text.find('\n')), {}, faults);
  if (head && head->find("kind") != nullptr) read_record<LogHead>(JsonReader(*head, place));
}

std::string read_log(const fs::path& path) {
  std::string text = read_file(path, kLargestLog);
  check_head(text, path.string() + ", line 1");
  return text;
}

// Calls visit(line, whole) for each line of a text, without its newline; the last one is not whole
// where that is missing.
template <class Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const bool whole = end != std::string_view::npos;
    visit(text.substr(0, end), whole);
    text.remove_prefix(whole ? end + 1 : text.size());
  }
}

bool stays(const LogLine& line, const LogEnd& end, bool line_before_stays) {
  if (!line.step) return line_before_stays;
  const bool validation = line.record && std::holds_alternative<ValidationRecord>(*line.record);
  return *line.step < end.step || (*line.step == end.step && (end.validated || !validation));
}

// The end of a file, from the beginning of a line if it is not the whole.
std::string last_lines(std::ifstream& file, std::int64_t size, std::int64_t bytes) {
  std::string text(static_cast<std::size_t>(std::min(size, bytes)), '\0');
  file.seekg(size - std::ssize(text));
  file.read(text.data(), std::ssize(text));
  if (std::ssize(text) < size) text.erase(0, text.find('\n') + 1);
  return text;
}

std::int64_t tokens_of(const LogRecord& record) {
  return std::visit(Overloaded{[](const ChangeRecord&) { return std::int64_t{0}; },
                               [](const auto& other) { return other.tokens; }},
                    record);
}

}  // namespace

std::optional<LogLine> parse_log_line(std::string_view line) {
  std::vector<JsonFault> faults;
  const std::optional<Json> json = parse_json(line, {}, faults);
  if (!json) return std::nullopt;
  const Json* step = json->find("step");
  return LogLine{step == nullptr ? std::nullopt : step->as_integer(), record_of(*json)};
}

std::string log_line(const LogRecord& record) {
  return std::visit([](const auto& r) { return line_of(r); }, record);
}

RunLog parse_run_log(std::string_view text) {
  RunLog log;
  for_each_line(text, [&](std::string_view line, bool /*whole*/) {
    if (const auto parsed = parse_log_line(line)) add(log, parsed->record);
  });
  return log;
}

RunLog read_run_log(const fs::path& path) { return parse_run_log(read_log(path)); }

std::int64_t read_logged_tokens(const fs::path& path) {
  constexpr std::int64_t kUsually = 4096;  // a skipped step's line may be longer
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::int64_t size = file ? static_cast<std::int64_t>(file.tellg()) : 0;
  for (std::int64_t bytes = kUsually;; bytes *= 4) {
    std::int64_t tokens = 0;
    for_each_line(last_lines(file, size, bytes), [&](std::string_view line, bool /*whole*/) {
      const auto parsed = parse_log_line(line);
      if (parsed && parsed->record) tokens = std::max(tokens, tokens_of(*parsed->record));
    });
    if (tokens > 0 || bytes >= size) return tokens;
  }
}

LogWriter::LogWriter(const fs::path& path)
    : path_(path), file_(path, OutputFile::Mode::kAppend), bytes_(fs::file_size(path)) {}

void LogWriter::append(const LogRecord& record) {
  const std::string head = bytes_ == 0 ? line_of(LogHead()) + "\n" : "";
  std::string text = head + log_line(record) + "\n";
  if (failed_) {
    const std::uintmax_t size = fs::file_size(path_);
    if (size != bytes_) text.insert(0, "\n");
    bytes_ = size;
  }
  failed_ = true;  // unless all of it is written
  file_.write(text);
  failed_ = false;
  bytes_ += text.size();
}

void LogWriter::sync() { file_.sync(); }

KeptLog cut_log_text(std::string_view text, const LogEnd& end) {
  KeptLog kept;
  bool stay = true;
  for_each_line(text, [&](std::string_view line, bool whole) {
    // Without its newline the last line is torn even when it happens to parse.
    const auto parsed = whole ? parse_log_line(line) : std::nullopt;
    if (parsed) stay = stays(*parsed, end, stay);
    if (parsed && stay) {
      kept.text.append(line).append("\n");
      kept.last_step = std::max(kept.last_step, parsed->step.value_or(0));
      add(kept.log, parsed->record);
    } else {
      ++kept.dropped;
      if (whole && !parsed) ++kept.damaged;
    }
  });
  return kept;
}

KeptLog cut_log(const fs::path& path, const LogEnd& end) {
  if (!fs::exists(path)) return {};
  KeptLog kept = cut_log_text(read_log(path), end);
  if (kept.dropped > 0) write_file_atomic(path, kept.text);
  return kept;
}

}  // namespace alibi
