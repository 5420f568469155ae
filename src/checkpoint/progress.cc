#include "checkpoint/progress.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json/parse.h"
#include "base/json/record.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace alibi {

template <class Fields>
void fields(Fields& f, ProgressFile& file) {
  Progress& p = file.progress;
  f.format({.newest = 6, .oldest = 1});
  f("identity", file.identity);
  f("data", file.data_hash, {.since = 3});
  f("arithmetic", p.arithmetic, {.since = 5});
  f("arithmetic_revision", p.arithmetic_revision, {.since = 6});
  f("step", p.step);
  f("tokens", p.tokens);
  f("best_step", p.best_step);
  f("evaluations_without_improvement", p.evaluations_without_improvement);
  f("skipped_steps", p.skipped_steps);
  f("rollbacks", p.rollbacks, {.since = 2});
  f("micro_batch_tokens", p.micro_batch_tokens, {.since = 2});
  f("validated_step", p.validated_step, {.since = 3});
  f("threads", p.threads, {.since = 3});
  f("skipped_in_a_row", p.skipped_in_a_row, {.since = 4});
  f("recent_losses", p.recent_losses, {.since = 2});
  f("recent_gradient_norms", p.recent_gradient_norms, {.since = 2});
  f("best_validation_loss", p.best_validation_loss,
    {.null = std::numeric_limits<double>::infinity()});
  f("finished", p.finished);
  f.or_absent("train_seconds", p.train_seconds, p.train_seconds > 0);
  f.or_absent("start_weights", p.start_weights, !p.start_weights.empty());
}

namespace {

// The longest window of a guard is 100,000 steps, each with two numbers.
constexpr JsonOptions kProgressLimits{.depth = 2, .values = 200'100};
constexpr std::int64_t kMostTokens = 1'000'000'000'000'000;  // as run.train_tokens
constexpr std::int64_t kMostThreads = 4096;

// No run has such counts: the file was not written by this program, even where its checksum holds.
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
  check("evaluations_without_improvement", p.evaluations_without_improvement, p.step);
  check("rollbacks", p.rollbacks, kMostTokens);
  if (!(p.train_seconds >= 0)) {
    throw Error(place + ": /train_seconds", cat("is ", p.train_seconds, ", expected 0 or more"));
  }
  if (p.recent_losses.size() != p.recent_gradient_norms.size()) {
    throw Error(place + ": /recent_losses",
                cat("holds ", p.recent_losses.size(), " numbers, /recent_gradient_norms ",
                    p.recent_gradient_norms.size()));
  }
}

}  // namespace

std::string progress_text(const ProgressFile& file) {
  const auto finite = [](double number) { return std::isfinite(number); };
  ensure(std::ranges::all_of(file.progress.recent_losses, finite) &&
             std::ranges::all_of(file.progress.recent_gradient_norms, finite) &&
             finite(file.progress.train_seconds) &&
             file.progress.best_validation_loss > -std::numeric_limits<double>::infinity(),
         "progress holds finite numbers");
  return write_json(to_json(file), {.indent = 0, .levels = 1, .spaced = true}) + "\n";
}

ProgressFile parse_progress(std::string_view text, const std::string& place) {
  const Json json = parse_json(text, place, kProgressLimits);
  ProgressFile file;
  const std::int64_t version = read_record(JsonReader(json, place), file, UnknownKeys::kRefuse);
  if (version < 6) file.progress.arithmetic_revision = 1;
  if (version < 3) file.progress.validated_step = file.progress.step;
  check_counts(file.progress, place);
  return file;
}

}  // namespace alibi
