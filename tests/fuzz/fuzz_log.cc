// A run's log: what is kept of one that is cut back is kept whole when it is cut back again, and a
// record that was read is written as it is read again.
#include "fuzz/fuzz.h"
#include "report/records/run_log.h"

namespace {

void write_again(const alibi::LogRecord& record) {
  const std::string text = alibi::log_line(record);
  const auto again = alibi::parse_log_line(text);
  alibi::expect(again && again->record && alibi::log_line(*again->record) == text,
                "a record is not read as it was written");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return alibi::read_or_refuse([&] {
    const alibi::LogEnd end{.step = 5, .validated = false};
    const alibi::KeptLog kept = alibi::cut_log_text(alibi::as_text(data, size), end);
    const alibi::KeptLog again = alibi::cut_log_text(kept.text, end);
    alibi::expect(again.dropped == 0 && again.text == kept.text, "a second cut drops more");
    const alibi::RunLog log = alibi::parse_run_log(alibi::as_text(data, size));
    for (const alibi::StepRecord& step : log.steps) write_again(step);
    for (const alibi::ValidationRecord& validation : log.validations) write_again(validation);
  });
}
