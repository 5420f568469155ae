// What a run folder holds for people and other programs beside the log:
//
//   RUN/report.html               loss, learning rate, throughput, memory, samples, settings
//   RUN/log.csv                   the log's figures, a line a step
//   RUN/events.out.tfevents...    the same for TensorBoard
//
// None is part of the run: they are written without fsync; a write that fails is a warning and is
// made good by the next. After the first write, what is kept in memory does not grow with the run.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "report/records/run_log.h"
#include "report/run_export.h"
#include "report/run_page.h"
#include "train/due.h"
#include "train/emitter.h"

namespace alibi {

class RunFiles final : public Sink {
 public:
  using Samples = std::function<std::vector<std::string>()>;  // text the model writes now

  struct Start {
    RunPage page;    // what does not change
    RunLog earlier;  // of earlier starts of the run, whose files are replaced
    std::optional<std::int64_t> saved_step;  // of the checkpoint that it goes on from
    Samples samples;
  };
  // `config` outlives it.
  RunFiles(const Config& config, Start start);

  // Writes now and then, and at each validation, with new samples.
  void take(const Event& event) override;
  // The files of a run that has ended; throws nothing. The model of one that failed may not be fit
  // to write samples.
  void finish(RunState end);

 private:
  template <class R>
  void add(const R& record);
  struct Appended {
    std::filesystem::path path;
    std::string pending;      // not in the file yet
    std::uint64_t bytes = 0;  // of the file, as far as it is whole
  };
  void write(RunState state, bool with_samples);
  void write_files();
  static void append(Appended& file);

  LoggedSteps steps_;
  std::filesystem::path folder_;
  RunPage page_;
  RunHistory history_;
  RunCsv csv_;
  Samples samples_;
  double next_ = 0;  // when to write again, on the clock
  Appended table_, events_;
  bool begun_ = false;   // the files of earlier starts are replaced
  bool failed_ = false;  // the last write
};

}  // namespace alibi
