// Documents out of a .jsonl file: text that is not empty, or a refusal that names file and line.
#include "fuzz/fuzz.h"
#include "text/documents.h"
#include "text/json_line.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (const auto line = alibi::read_text_line(alibi::as_text(data, size), "file.jsonl:1")) {
    const auto reference = alibi::read_any_line(alibi::as_text(data, size), "file.jsonl:1");
    alibi::expect(
        line->id == reference.id && line->text == reference.text && reference.turns.empty(),
        "another document than the reference reads");
  }
  return alibi::read_or_refuse([&] {
    alibi::for_each_line(alibi::as_text(data, size), "file.jsonl",
                         [](const alibi::DocumentView& document) {
                           alibi::expect(!document.text.empty(), "an empty document");
                           alibi::expect(!document.id.empty(), "a document without a name");
                           return true;
                         });
  });
}
