#include "train/log_sink.h"

#include <algorithm>

#include "base/log.h"
#include "base/overloaded.h"
#include "base/strings.h"
#include "config/load.h"
#include "train/due.h"

namespace alibi {
namespace {

LogEnd end_of_log(const std::optional<Checkpoint>& resume) {
  if (!resume) return {};
  const Progress& then = resume->progress;
  return {.step = then.step, .validated = then.validated_step == then.step};
}

// A line is due where the tokens pass a multiple of run.log_every_tokens; 0: at each step. That key
// may be another now than when the lines were written.
bool lines_are_lost(const Config& now, const Config& before, std::int64_t last_logged,
                    std::int64_t tokens) {
  const std::int64_t step_tokens = batch_shape(now.batch).tokens();
  const std::int64_t every =
      std::max({step_tokens, now.run.log_every_tokens, before.run.log_every_tokens});
  return is_due(every, last_logged * step_tokens, tokens);
}

RunLog cut_back(const Config& config, const std::filesystem::path& log,
                const std::optional<Checkpoint>& resume) {
  KeptLog kept = cut_log(log, end_of_log(resume));
  if (!resume) return std::move(kept.log);
  const Progress& then = resume->progress;
  const Config before = parse_config(resume->config_json, "config.json of the checkpoint");
  if (kept.damaged > 0) {
    log_warning(cat(log.string(), ": ", kept.damaged, " damaged lines were left out of it"));
  }
  if (lines_are_lost(config, before, kept.last_step, then.tokens)) {
    log_warning(cat(log.string(), ": ends at step ", kept.last_step, ", the checkpoint is of step ",
                    then.step,
                    ": the lines between are lost (training goes on; curves will have a gap)"));
  }
  return std::move(kept.log);
}

}  // namespace

LogSink::LogSink(const Config& config, const RunFolder& folder,
                 const std::optional<Checkpoint>& resume)
    : steps_(config), earlier_(cut_back(config, folder.log(), resume)), writer_(folder.log()) {}

void LogSink::take(const Event& event) {
  std::visit(
      Overloaded{[&](const StepRecord& step) {
                   if (steps_.takes(step)) writer_.append(step);
                 },
                 [&](const EndRecord&) {
                   if (const auto last = steps_.take_last()) writer_.append(*last);
                 },
                 [&](const ValidationRecord& validation) { writer_.append(validation); },
                 [&](const ChangeRecord& change) { writer_.append(change); }, [](const auto&) {}},
      event);
}

}  // namespace alibi
