// A config that is taken is stored and read as the same config; one that is not is refused in lines
// that each name a place.
#include "config/load.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string text(alibi::as_text(data, size));
    const alibi::Config config = alibi::parse_config(text, "file");
    const std::string stored = alibi::config_json(config);
    alibi::expect(alibi::config_json(alibi::parse_config(stored, "again")) == stored,
                  "a config changes when it is stored and read");
  } catch (const alibi::Error& error) {
    std::string_view lines = error.what();
    for (std::size_t end = 0; end != std::string_view::npos && !lines.empty();) {
      end = lines.find('\n');
      // A rule broken by defaults names no file.
      const std::string_view line = lines.substr(0, end);
      alibi::expect(line.starts_with("file: ") || line.starts_with("config: /"),
                    "a line without its place");
      lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    }
  }
  return 0;
}
