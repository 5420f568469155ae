#include "report/progress.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "report/table.h"

namespace alibi {
namespace {

// Ranks: what a narrow terminal loses first has the highest.
enum Rank { kKept, kEta, kSpeed, kGradient, kRate, kShare, kMemory, kTokens };

bool known(double value) { return std::isfinite(value) && value >= 0; }

std::string two_digits(double value) {
  if (value == 0) return "0";
  char buffer[32];
  const int size = std::snprintf(buffer, sizeof buffer, "%.1e", value);
  return std::string(buffer, static_cast<std::size_t>(std::max(size, 0)));
}

std::string step_of(const TrainLine& line) {
  if (line.steps <= 0) return "step " + with_commas(line.record.step);
  const auto all = with_commas(line.steps);
  std::string now = with_commas(line.record.step);
  if (now.size() < all.size()) now.insert(0, all.size() - now.size(), ' ');
  return cat("step ", now, "/", all);
}

std::string speed_of_arithmetic(const TrainLine& line) {
  const bool share = known(line.share_of_peak);
  if (!known(line.gflops)) return share ? fixed(line.share_of_peak * 100, 0) + " % of peak" : "";
  std::string text = fixed(line.gflops, line.gflops < 9.95 ? 1 : 0) + " GFLOP/s";
  if (share) text += cat(" (", fixed(line.share_of_peak * 100, 0), " % of peak)");
  return text;
}

std::string percent_done(double share) {
  std::string text = fixed(std::clamp(share, 0.0, 1.0) * 100, 0) + " %";
  return text.insert(0, text.size() < 5 ? 5 - text.size() : 0, ' ');  // a line that does not jump
}

std::string amount(double value, const std::string& unit) {
  return unit == "bytes" ? human_bytes(value) : human_count(value);
}

// "step 120/1,000  loss 3.2146  lr 9.8e-04  grad 0.91  12.3k tok/s  210 GFLOP/s (62 % of peak) .."
std::vector<LivePart> train_line_parts(const TrainLine& line) {
  std::vector<LivePart> parts = {{step_of(line), kKept}};
  const StepRecord& step = line.record;
  if (step.tokens > 0) parts.push_back({human_count(double(step.tokens)) + " tokens", kTokens});
  parts.push_back({"loss " + fixed(step.loss, 4), kKept});
  if (known(step.learning_rate)) parts.push_back({"lr " + two_digits(step.learning_rate), kRate});
  parts.push_back({"grad " + fixed(step.gradient_norm, 2), kGradient});
  if (known(line.tokens_per_second)) {
    parts.push_back({human_count(line.tokens_per_second) + " tok/s", kSpeed});
  }
  const std::string arithmetic = speed_of_arithmetic(line);
  if (!arithmetic.empty()) parts.push_back({arithmetic, kShare});
  if (line.memory_bytes >= 0) parts.push_back({human_bytes(double(line.memory_bytes)), kMemory});
  if (known(line.eta_seconds) && line.eta_seconds > 0) {
    parts.push_back({"ETA " + human_seconds(line.eta_seconds), kEta});
  }
  return parts;
}

constexpr double kLeastSeconds = 0.05;  // before that it is too early for a rate

constexpr JsonStyle kLine{.spaced = true, .invalid_utf8 = JsonStyle::InvalidUtf8::kReplace};

bool as_json = false;  // of the process

LiveOptions styled(LiveOptions options) {
  if (as_json) {
    options.style = LiveOptions::Style::kPlain;
    options.plain_seconds = 1;
  }
  return options;
}

Json or_null(double value) { return known(value) ? Json(value) : Json(); }

std::string train_line_json(const TrainLine& line) {
  const StepRecord& step = line.record;
  return write_json({{"task", "training"},
                     {"step", step.step},
                     {"steps", line.steps > 0 ? Json(line.steps) : Json()},
                     {"tokens", step.tokens},
                     {"loss", step.loss},
                     {"learning_rate", step.learning_rate},
                     {"gradient_norm", step.gradient_norm},
                     {"tokens_per_second", or_null(line.tokens_per_second)},
                     {"memory_bytes", line.memory_bytes >= 0 ? Json(line.memory_bytes) : Json()},
                     {"eta_seconds", or_null(line.eta_seconds)}},
                    kLine);
}

}  // namespace

void set_progress_json() { as_json = true; }

ProgressLine::ProgressLine(std::FILE* out, LiveOptions options) : line_(out, styled(options)) {}

void ProgressLine::show(const TrainLine& line) noexcept {
  try {
    if (as_json)
      line_.show({{train_line_json(line), kKept}});
    else
      line_.show(train_line_parts(line));
  } catch (...) {  // out of memory: the line is lost, the run is not
  }
}

TaskProgress::TaskProgress(std::FILE* out, std::string label, double total, std::string unit,
                           LiveOptions options, double done_before)
    : line_(out, styled(options)),
      label_(std::move(label)),
      total_(total),
      unit_(std::move(unit)),
      done_before_(done_before),
      start_(seconds_now()) {}

std::vector<LivePart> TaskProgress::parts(double done) const {
  const std::string name = unit_ == "bytes" ? "" : " " + unit_;
  std::vector<LivePart> parts = {{label_, kKept}};
  if (total_ > 0) {
    parts.push_back({percent_done(done / total_), kKept});
    parts.push_back({cat(amount(done, unit_), " of ", amount(total_, unit_), name), kRate});
  } else {
    parts.push_back({amount(done, unit_) + name, kKept});
  }
  const double seconds = seconds_now() - start_;
  if (done <= done_before_ || seconds <= kLeastSeconds) return parts;
  const double rate = (done - done_before_) / seconds;
  parts.push_back({cat(amount(rate, unit_), name, "/s"), kSpeed});
  if (done < total_) parts.push_back({"ETA " + human_seconds((total_ - done) / rate), kEta});
  if (total_ > 0 && done >= total_) parts.push_back({"in " + human_seconds(seconds), kEta});
  return parts;
}

std::string TaskProgress::json(double done) const {
  const double seconds = seconds_now() - start_;
  const double done_since = done - done_before_;
  const bool timed = done_since > 0 && total_ > 0 && seconds > kLeastSeconds;
  return write_json(
      {{"task", label_},
       {"done", done},
       {"total", total_ > 0 ? Json(total_) : Json()},
       {"unit", unit_},
       {"seconds", seconds},
       {"eta_seconds", timed ? Json(std::max(0.0, total_ - done) * seconds / done_since) : Json()}},
      kLine);
}

void TaskProgress::show(double done) noexcept {
  try {
    if (as_json)
      line_.show({{json(done), kKept}});
    else
      line_.show(parts(done));
  } catch (...) {  // as in ProgressLine::show
  }
}

}  // namespace alibi
