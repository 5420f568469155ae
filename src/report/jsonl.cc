#include "report/jsonl.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/strings.h"

namespace alibi {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kLogFormatVersion = 1;

Json json_value(const JsonValue& value) {
  if (const double* number = std::get_if<double>(&value);
      number != nullptr && !std::isfinite(*number)) {
    return std::isnan(*number) ? "nan" : *number > 0 ? "inf" : "-inf";
  }
  return std::visit([](const auto& known) { return Json(known); }, value);
}

struct Line {
  std::optional<std::int64_t> step;
  bool stays = false;
};

// Of a whole line, given the fate of the line before; nothing for one that is no JSON object.
std::optional<Line> judged(std::string_view line, const LastLine& last, bool before) {
  const auto parsed = nlohmann::json::parse(line, nullptr, false);
  if (!parsed.is_object()) return std::nullopt;
  const auto step = parsed.find("step");
  if (step == parsed.end() || !step->is_number_integer()) return Line{std::nullopt, before};
  const auto found = step->get<std::int64_t>();
  return Line{found, found < last.step || (found == last.step && !parsed.contains(last.without))};
}

}  // namespace

std::string json_line(const JsonFields& fields) {
  Json object = Json::object();
  for (const auto& [key, value] : fields) object[key] = json_value(value);
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

JsonLines::JsonLines(std::filesystem::path path)
    : file_(path, OutputFile::Mode::kAppend), empty_(std::filesystem::file_size(path) == 0) {}

void JsonLines::append(const JsonFields& fields) {
  const std::string head = json_line({{"format_version", kLogFormatVersion}, {"kind", "log"}});
  file_.write((std::exchange(empty_, false) ? head + "\n" : "") + json_line(fields) + "\n");
}

void JsonLines::sync() { file_.sync(); }

void JsonLines::close() { file_.close(); }

KeptLines lines_up_to_step(std::string_view log, const LastLine& last) {
  KeptLines kept;
  bool stay = true;
  for (std::string_view rest = log; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    // Without its newline the last line is torn even when it happens to parse.
    const bool whole = end != std::string_view::npos;
    const auto verdict = whole ? judged(line, last, stay) : std::nullopt;
    if (verdict) stay = verdict->stays;
    if (verdict && stay) {
      kept.text.append(line).append("\n");
      kept.last_step = std::max(kept.last_step, verdict->step.value_or(0));
    } else {
      ++kept.dropped;
      if (whole && !verdict) ++kept.damaged;
    }
    rest.remove_prefix(whole ? end + 1 : rest.size());
  }
  return kept;
}

std::string read_log(const std::filesystem::path& path) { return read_file(path, 8ull << 30); }

KeptLines truncate_after_step(const std::filesystem::path& path, const LastLine& last) {
  if (!std::filesystem::exists(path)) return {};
  KeptLines kept = lines_up_to_step(read_log(path), last);
  if (kept.dropped > 0) write_file_atomic(path, kept.text);
  return kept;
}

}  // namespace alibi
