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
  StagedPath(path).make(
      [&](const fs::path& beside) { put(beside, text, OutputFile::Mode::kCreate); },
      /*durable=*/false);
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
    : steps_(config),
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
  events_.pending += event_record(record, static_cast<double>(std::time(nullptr)));
}

void RunFiles::take(const Event& event) {
  if (const auto* step = std::get_if<StepRecord>(&event)) {
    if (steps_.takes(*step)) add(*step);
    if (seconds_now() >= next_) write(RunState::kRunning, false);
  } else if (const auto* validation = std::get_if<ValidationRecord>(&event)) {
    add(*validation);
    write(RunState::kRunning, true);
  } else if (std::holds_alternative<EndRecord>(event)) {
    if (const auto last = steps_.take_last()) add(*last);
  } else if (const auto* save = std::get_if<SaveRecord>(&event)) {
    history_.saved_step = save->step;
  }
}

// A run that was finished before has made no samples since this start.
void RunFiles::finish(RunState end) {
  const bool shows_samples = history_.last_validation.has_value();
  write(end, end != RunState::kFailed && shows_samples && page_.samples.empty());
}

void RunFiles::write(RunState state, bool with_samples) {
  const double start = seconds_now();
  try {
    if (with_samples) page_.samples = samples_();
    page_.state = state;
    page_.updated = utc_timestamp();
    table_.pending += csv_.take(state != RunState::kRunning);
    write_files();
    failed_ = false;
  } catch (const std::exception& error) {
    if (!std::exchange(failed_, true))
      log_warning(cat("report.html, log.csv and events are written later: ", error.what()));
  }
  next_ = seconds_now() + std::max(kLeastSeconds, kShare * (seconds_now() - start));
}

// A resumed run, whose log may have lost lines, begins new files. TensorBoard reads on at the end
// of one, so that its new file has another name.
void RunFiles::write_files() {
  replace(folder_ / "report.html", run_page(page_, history_));
  if (!begun_) {
    const auto now = static_cast<double>(std::time(nullptr));
    remove_events(folder_);
    table_.path = folder_ / "log.csv";
    events_.path = folder_ / cat("events.out.tfevents.", static_cast<std::int64_t>(now), ".alibi");
    events_.pending.insert(0, event_file_head(now));
    begun_ = true;
  }
  append(table_);
  append(events_);
}

// Behind what is whole: a write that failed may have left a part.
void RunFiles::append(Appended& file) {
  const std::string& text = file.pending;
  if (file.bytes == 0) {
    replace(file.path, text);
  } else {
    std::error_code missing;
    if (fs::file_size(file.path, missing) > file.bytes && !missing)
      fs::resize_file(file.path, file.bytes);
    put(file.path, text, OutputFile::Mode::kAppend);
  }
  file.bytes += text.size();
  file.pending.clear();
}

}  // namespace alibi
