// The log of a run as pages and tables read it.
#include "fuzz/fuzz.h"
#include "report/run_log.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return alibi::read_or_refuse([&] { alibi::parse_run_log(alibi::as_text(data, size)); });
}
