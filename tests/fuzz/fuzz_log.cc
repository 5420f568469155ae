// A log cut back at a step: what is kept is kept whole when it is cut back again.
#include "fuzz/fuzz.h"
#include "report/jsonl.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return alibi::read_or_refuse([&] {
    const alibi::KeptLines kept = alibi::lines_up_to_step(alibi::as_text(data, size), {5, "best"});
    const alibi::KeptLines again = alibi::lines_up_to_step(kept.text, {5, "best"});
    alibi::expect(again.dropped == 0 && again.text == kept.text, "a second cut drops more");
  });
}
