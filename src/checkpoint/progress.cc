#include "checkpoint/progress.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/strings.h"
#include "formats/strict_json.h"

namespace alibi {
namespace {

constexpr std::int64_t kFormatVersion = 1;
constexpr JsonLimits kProgressLimits{.depth = 1, .values = 100};

constexpr std::array<std::pair<const char*, std::int64_t Progress::*>, 5> kCounts{
    {{"step", &Progress::step},
     {"tokens", &Progress::tokens},
     {"best_step", &Progress::best_step},
     {"evaluations_without_improvement", &Progress::evaluations_without_improvement},
     {"skipped_steps", &Progress::skipped_steps}}};

// The shortest text that reads back as the same bits.
std::string loss_text(double loss) {
  if (loss == std::numeric_limits<double>::infinity()) return "null";
  ensure(std::isfinite(loss), "the best validation loss is a number or none");
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.begin(), buffer.end(), loss);
  return {buffer.begin(), result.ptr};
}

double parse_loss(const StrictJson& json, const std::string& place) {
  if (std::holds_alternative<std::monostate>(json.value)) {
    return std::numeric_limits<double>::infinity();
  }
  return as_number(json, place);
}

}  // namespace

std::string progress_text(const ProgressFile& file) {
  std::string text = cat("{\n\"format_version\": ", kFormatVersion, ",\n");
  text += "\"identity\": " + json_quoted(file.identity) + ",\n";
  for (const auto& [name, field] : kCounts) {
    ensure(file.progress.*field >= 0, "progress counts upwards from 0");
    text += cat("\"", name, "\": ", file.progress.*field, ",\n");
  }
  text += "\"best_validation_loss\": " + loss_text(file.progress.best_validation_loss) + ",\n";
  return text + "\"finished\": " + (file.progress.finished ? "true" : "false") + "\n}\n";
}

ProgressFile parse_progress(std::string_view text, const std::string& place) {
  const StrictObject root = parse_strict_json(text, place, kProgressLimits);
  const auto version =
      as_count(required(root, "format_version", place), place + ": /format_version");
  if (version != kFormatVersion) {
    throw Error(place, cat("has format_version ", version, ", this program reads ", kFormatVersion),
                "use the program version that wrote it");
  }
  refuse_unknown(root,
                 {"format_version", "identity", "step", "tokens", "best_step", "skipped_steps",
                  "evaluations_without_improvement", "best_validation_loss", "finished"},
                 place);
  ProgressFile file;
  file.identity = as_string(required(root, "identity", place), place + ": /identity");
  for (const auto& [name, field] : kCounts) {
    file.progress.*field = as_count(required(root, name, place), cat(place, ": /", name));
  }
  file.progress.best_validation_loss =
      parse_loss(required(root, "best_validation_loss", place), place + ": /best_validation_loss");
  file.progress.finished = as_bool(required(root, "finished", place), place + ": /finished");
  return file;
}

}  // namespace alibi
