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

constexpr const char* kCsv = "log.csv";
// At most a fiftieth of the time goes into the files between validations.
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
  StagedPath staged(path);
  put(staged.path(), text, OutputFile::Mode::kCreate);
  staged.commit_unsynced();
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
      samples_(std::move(start.samples)),
      next_(seconds_now() + kLeastSeconds) {
  const auto& validations = start.earlier.validations;
  auto validation = validations.begin();
  for (const StepRecord& step : start.earlier.steps) {
    for (; validation != validations.end() && validation->step < step.step; ++validation)
      add(*validation);
    add(step);
  }
  for (; validation != validations.end(); ++validation) add(*validation);
  history_.saved_step = start.saved_step;
}

template <class R>
void RunFiles::add(const R& record) {
  history_.add(record);
  csv_.add(record);
  events_ += event_record(record, static_cast<double>(std::time(nullptr)));
}

void RunFiles::take(const Event& event) {
  if (failed_) return;
  if (const auto* step = std::get_if<StepRecord>(&event)) {
    if (is_logged(config_, *step)) add(*step);
    if (seconds_now() >= next_) write(true);
  } else if (const auto* validation = std::get_if<ValidationRecord>(&event)) {
    add(*validation);
    write(true, true);
  } else if (const auto* save = std::get_if<SaveRecord>(&event)) {
    history_.saved_step = save->step;
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
    replace(folder_ / "report.html", run_page(page_, history_));
    const std::string rows = csv_.take(!alive);
    if (events_file_.empty()) {
      replace(folder_ / kCsv, rows);
      begin_events();
    } else {
      put(folder_ / kCsv, rows, OutputFile::Mode::kAppend);
    }
    put(folder_ / events_file_, std::exchange(events_, {}), OutputFile::Mode::kAppend);
  } catch (const std::exception& error) {
    failed_ = true;
    log_warning(cat("no more report.html, log.csv and events from here on: ", error.what()));
  }
  next_ = seconds_now() + std::max(kLeastSeconds, kShare * (seconds_now() - start));
}

// A resumed run, whose log may have lost lines, begins a new file. TensorBoard reads on at the end
// of one.
void RunFiles::begin_events() {
  const auto now = static_cast<double>(std::time(nullptr));
  remove_events(folder_);
  events_file_ = cat("events.out.tfevents.", static_cast<std::int64_t>(now), ".alibi");
  put(folder_ / events_file_, event_file_head(now), OutputFile::Mode::kCreate);
}

}  // namespace alibi
