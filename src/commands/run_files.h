// What a run folder holds for people and other programs beside the log, made from it:
//
//   RUN/report.html               loss, learning rate, throughput, memory, samples, settings
//   RUN/log.csv                   the log's figures, a line a step
//   RUN/events.out.tfevents...    the same for TensorBoard
//
// None is part of the run: they are written in place, without fsync, and a failure is a warning.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "report/run_page.h"

namespace alibi {

class RunFiles {
 public:
  using Samples = std::function<std::vector<std::string>()>;  // text the model writes now

  // `page` holds what does not change. What an earlier process of the run wrote is replaced.
  RunFiles(std::filesystem::path folder, RunPage page, Samples samples);

  void step();        // now and then writes everything anew
  void validation();  // always, with new samples
  void finish();      // the page of a run that is not running

 private:
  void write(bool alive, bool with_samples = false);
  void append_events(const RunLog& log);

  std::filesystem::path folder_;
  RunPage page_;
  Samples samples_;
  double next_ = 0;     // when to write again, on the clock
  ToldLines told_;      // to the events' file
  std::string events_;  // its name
  bool failed_ = false;
};

}  // namespace alibi
