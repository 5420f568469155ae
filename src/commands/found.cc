#include "commands/found.h"

#include <cstdio>
#include <utility>

#include "base/error.h"
#include "base/json/write.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/strings.h"
#include "report/progress.h"

namespace alibi {

Json document(const char* kind, Json members) {
  Json whole = {{"format_version", 1}, {"kind", kind}};
  whole.update(std::move(members));
  return whole;
}

Option json_option(bool& as_json) {
  return {.name = "--json",
          .meaning = "Print one JSON document instead of tables (configs/output.schema.json)",
          .target = &as_json};
}

Option progress_option(std::string& style) {
  return {.name = "--progress",
          .meaning = "Progress and notes on standard error as words, or as a JSON object a line",
          .target = &style,
          .choices = {"words", "json"}};
}

void show_progress_as(const std::string& style) {
  if (style != "json") return;
  set_progress_json();
  set_log_json();
}

int print_found(const Found& found, bool as_json) {
  const std::string text =
      as_json ? write_json(found.json,
                           {.indent = 1, .invalid_utf8 = JsonStyle::InvalidUtf8::kReplace}) +
                    "\n"
              : found.text;
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

void check_ending(const std::filesystem::path& file, const char* ending, const char* option) {
  if (file.extension() != ending)
    throw usage_error(
        option, cat("found ", shown(file.string()), ", expected a name that ends in ", ending));
}

void print_written(const std::filesystem::path& file, bool as_json) {
  if (!as_json) std::printf("written: %s\n", file.c_str());
}

}  // namespace alibi
