// JSON that is taken is written and read as the same value; JSON that is not is refused with a
// pointer or a line of the text.
#include "base/json/parse.h"
#include "base/json/write.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const alibi::JsonOptions options{
      .depth = 32, .values = 100'000, .comments = true, .any_value = true};
  return alibi::read_or_refuse([&] {
    std::vector<alibi::JsonFault> faults;
    const auto json = alibi::parse_json(alibi::as_text(data, size), options, faults);
    alibi::expect(json.has_value() == faults.empty(), "neither a value nor a fault, or both");
    if (!json) return;
    for (const alibi::JsonStyle& style :
         {alibi::JsonStyle(), alibi::JsonStyle{.indent = 2}, alibi::JsonStyle{.spaced = true}}) {
      const std::string text = alibi::write_json(*json, style);
      alibi::expect(alibi::parse_json(text, options, faults) == json,
                    "a value changes when it is written and read");
    }
  });
}
