#include "commands/run_files.h"

#include <ctime>
#include <exception>

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/strings.h"
#include "report/event_file.h"
#include "train/due.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

// A refresh takes time in proportion to the log: at most a fiftieth of the time goes into it.
constexpr double kLeastSeconds = 10;
constexpr double kShare = 50;

// Not durable: what a crash takes of them the next start writes again.
void put(const fs::path& path, const std::string& text, OutputFile::Mode mode) {
  OutputFile file(path, mode);
  file.write(text);
  file.close();
}

// Whoever reads it meanwhile finds the old one or the new one.
void replace(const fs::path& path, const std::string& text) {
  const fs::path aside = path.string() + ".tmp";
  put(aside, text, OutputFile::Mode::kCreate);
  fs::rename(aside, path);
}

void remove_events(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("events.out.tfevents.") && name.ends_with(".alibi"))
      fs::remove(entry.path(), ignored);
  }
}

}  // namespace

RunFiles::RunFiles(const Config& config, Start start)
    : config_(config),
      folder_(config.run.folder),
      page_(std::move(start.page)),
      log_(std::move(start.earlier)),
      samples_(std::move(start.samples)),
      next_(seconds_now() + kLeastSeconds) {}

void RunFiles::take(const Event& event) {
  if (failed_) return;
  if (const auto* step = std::get_if<StepRecord>(&event)) {
    if (is_logged(config_, *step)) log_.steps.push_back(*step);
    if (seconds_now() >= next_) write(true);
  } else if (const auto* validation = std::get_if<ValidationRecord>(&event)) {
    log_.validations.push_back(*validation);
    write(true, true);
  }
}

void RunFiles::finish() {
  if (!failed_) write(false);
}

void RunFiles::write(bool alive, bool with_samples) {
  const double start = seconds_now();
  try {
    if (with_samples) page_.samples = samples_();
    page_.alive = alive;
    page_.updated = utc_timestamp();
    replace(folder_ / "report.html", run_page(page_, log_));
    replace(folder_ / "log.csv", run_csv(log_));
    append_events();
  } catch (const std::exception& error) {
    failed_ = true;
    log_warning(cat("no more report.html, log.csv and events from here on: ", error.what()));
  }
  next_ = seconds_now() + std::max(kLeastSeconds, kShare * (seconds_now() - start));
}

// TensorBoard reads on at the end of a file: records are appended, and a resumed run, whose log may
// have lost lines, begins a new one.
void RunFiles::append_events() {
  const auto now = static_cast<double>(std::time(nullptr));
  std::string records;
  if (events_.empty()) {
    remove_events(folder_);
    events_ = cat("events.out.tfevents.", static_cast<std::int64_t>(now), ".alibi");
    records = event_file_head(now);
  }
  records += run_event_records(log_, exported_, now);
  exported_ = {log_.steps.size(), log_.validations.size()};
  put(folder_ / events_, records, OutputFile::Mode::kAppend);
}

}  // namespace alibi
