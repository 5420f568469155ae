// The progress of a run: what is taken is written and read as the same.
#include "checkpoint/progress.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return alibi::read_or_refuse([&] {
    const alibi::ProgressFile file = alibi::parse_progress(alibi::as_text(data, size), "file");
    const std::string text = alibi::progress_text(file);
    alibi::expect(alibi::progress_text(alibi::parse_progress(text, "again")) == text,
                  "progress changes when it is written and read");
  });
}
