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

constexpr std::int64_t kFormatVersion = 6;
// The longest window of a guard is 100,000 steps, each with two numbers.
constexpr JsonLimits kProgressLimits{.depth = 2, .values = 200'100};

struct Count {
  const char* name;
  std::int64_t Progress::*field;
  std::int64_t since;  // format version
};
constexpr std::int64_t kMostTokens = 1'000'000'000'000'000;  // as run.train_tokens
constexpr std::int64_t kMostThreads = 4096;
constexpr std::array<Count, 11> kCounts{
    {{"step", &Progress::step, 1},
     {"tokens", &Progress::tokens, 1},
     {"best_step", &Progress::best_step, 1},
     {"evaluations_without_improvement", &Progress::evaluations_without_improvement, 1},
     {"skipped_steps", &Progress::skipped_steps, 1},
     {"rollbacks", &Progress::rollbacks, 2},
     {"micro_batch_tokens", &Progress::micro_batch_tokens, 2},
     {"validated_step", &Progress::validated_step, 3},
     {"threads", &Progress::threads, 3},
     {"skipped_in_a_row", &Progress::skipped_in_a_row, 4},
     {"arithmetic_revision", &Progress::arithmetic_revision, 6}}};

constexpr std::array<std::pair<const char*, std::vector<double> Progress::*>, 2> kRecent{
    {{"recent_losses", &Progress::recent_losses},
     {"recent_gradient_norms", &Progress::recent_gradient_norms}}};

// The shortest text that reads back as the same bits.
std::string number_text(double number) {
  ensure(std::isfinite(number), "progress holds finite numbers");
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.begin(), buffer.end(), number);
  return {buffer.begin(), result.ptr};
}

std::string loss_text(double loss) {
  return loss == std::numeric_limits<double>::infinity() ? "null" : number_text(loss);
}

std::string list_text(const std::vector<double>& numbers) {
  std::string text = "[";
  for (const double number : numbers) {
    if (text.size() > 1) text += ", ";
    text += number_text(number);
  }
  return text + "]";
}

std::vector<double> parse_list(const StrictJson& json, const std::string& place) {
  std::vector<double> numbers;
  for (const StrictJson& element : as_array(json, place))
    numbers.push_back(as_number(element, cat(place, "/", numbers.size())));
  return numbers;
}

double parse_loss(const StrictJson& json, const std::string& place) {
  if (std::holds_alternative<std::monostate>(json.value)) {
    return std::numeric_limits<double>::infinity();
  }
  return as_number(json, place);
}

// No run counts so: such a file was not written by this program, whatever its checksum says.
void check_counts(const Progress& p, const std::string& place) {
  const auto check = [&](const char* name, std::int64_t found, std::int64_t most) {
    if (found <= most) return;
    throw Error(cat(place, ": /", name), cat("is ", found, ", expected at most ", most));
  };
  check("step", p.step, kMostTokens);
  check("tokens", p.tokens, kMostTokens);
  check("threads", p.threads, kMostThreads);
  check("micro_batch_tokens", p.micro_batch_tokens, kMostTokens);
  check("best_step", p.best_step, p.step);
  check("validated_step", p.validated_step, p.step);
  check("skipped_steps", p.skipped_steps, p.step);
  check("skipped_in_a_row", p.skipped_in_a_row, p.step);
}

}  // namespace

std::string progress_text(const ProgressFile& file) {
  const Progress& progress = file.progress;
  std::string text = cat("{\n\"format_version\": ", kFormatVersion, ",\n");
  text += "\"identity\": " + json_quoted(file.identity) + ",\n";
  text += "\"data\": " + json_quoted(file.data_hash) + ",\n";
  text += "\"arithmetic\": " + json_quoted(progress.arithmetic) + ",\n";
  for (const Count& count : kCounts) {
    ensure(progress.*count.field >= 0, "progress counts upwards from 0");
    text += cat("\"", count.name, "\": ", progress.*count.field, ",\n");
  }
  for (const auto& [name, field] : kRecent)
    text += cat("\"", name, "\": ", list_text(progress.*field), ",\n");
  text += "\"best_validation_loss\": " + loss_text(progress.best_validation_loss) + ",\n";
  return text + "\"finished\": " + (progress.finished ? "true" : "false") + "\n}\n";
}

ProgressFile parse_progress(std::string_view text, const std::string& place) {
  const StrictObject root = parse_strict_json(text, place, kProgressLimits);
  const auto version =
      as_count(required(root, "format_version", place), place + ": /format_version");
  if (version < 1 || version > kFormatVersion) {
    throw Error(place,
                cat("has format_version ", version, ", this program reads 1 to ", kFormatVersion),
                "use the program version that wrote it");
  }
  refuse_unknown(root,
                 {"format_version", "identity", "data", "arithmetic", "arithmetic_revision", "validated_step", "threads",
                  "step", "tokens", "best_step", "skipped_steps", "skipped_in_a_row", "rollbacks",
                  "micro_batch_tokens", "recent_losses", "recent_gradient_norms",
                  "evaluations_without_improvement", "best_validation_loss", "finished"},
                 place);
  ProgressFile file;
  Progress& progress = file.progress;
  file.identity = as_string(required(root, "identity", place), place + ": /identity");
  if (version >= 3) file.data_hash = as_string(required(root, "data", place), place + ": /data");
  if (version >= 5)
    progress.arithmetic = as_string(required(root, "arithmetic", place), place + ": /arithmetic");
  for (const Count& count : kCounts) {
    if (count.since > version) continue;
    progress.*count.field =
        as_count(required(root, count.name, place), cat(place, ": /", count.name));
  }
  if (version < 6) progress.arithmetic_revision = 1;
  if (version < 3) progress.validated_step = progress.step;
  check_counts(progress, place);
  for (const auto& [name, field] : kRecent) {
    if (version >= 2)
      progress.*field = parse_list(required(root, name, place), cat(place, ": /", name));
  }
  if (progress.recent_losses.size() != progress.recent_gradient_norms.size()) {
    throw Error(place + ": /recent_losses",
                cat("holds ", progress.recent_losses.size(), " numbers, /recent_gradient_norms ",
                    progress.recent_gradient_norms.size()));
  }
  progress.best_validation_loss =
      parse_loss(required(root, "best_validation_loss", place), place + ": /best_validation_loss");
  progress.finished = as_bool(required(root, "finished", place), place + ": /finished");
  return file;
}

}  // namespace alibi
