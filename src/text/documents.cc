#include "text/documents.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/strings.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

constexpr std::size_t kLongestLine = std::size_t{1} << 30;
constexpr std::size_t kLongestQuote = 160;  // of a library's message about a line

bool is_text(const fs::path& path) {
  return path.extension() == ".txt" || path.extension() == ".jsonl";
}

[[noreturn]] void refuse_utf8(const std::string& place, std::string_view text, std::size_t at) {
  char byte[8];
  std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(text[at]));
  const bool utf16 = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
  throw Error(place, cat("invalid UTF-8 at byte ", at, ": ", byte),
              utf16 ? "it looks like UTF-16: convert it with iconv" : "convert the text to UTF-8");
}

// One line of a .jsonl file, read event by event: nothing is built but the two strings that matter,
// and the library's event reader keeps nesting on the heap, so depth cannot exhaust the stack.
class LineReader : public nlohmann::json_sax<json> {
 public:
  std::optional<std::string> text;
  std::string id;
  std::string problem;

  bool null() override { return value("null"); }
  bool boolean(bool) override { return value("a boolean"); }
  bool number_integer(number_integer_t number) override { return numeric(cat(number)); }
  bool number_unsigned(number_unsigned_t number) override { return numeric(cat(number)); }
  bool number_float(number_float_t, const string_t& number) override { return numeric(number); }
  bool string(string_t& string) override {
    if (depth_ == 1 && key_ == "text") {
      text = std::move(string);
      return true;
    }
    if (depth_ == 1 && key_ == "id") id = std::move(string);
    return value("a string");
  }
  bool binary(binary_t&) override { return value("binary"); }
  bool start_object(std::size_t) override {
    return (depth_ == 0 || value("an object")) && ++depth_;
  }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    key_ = std::move(name);
    if (key_ == "text" && std::exchange(seen_text_, true)) return fail("key \"text\" occurs twice");
    return true;
  }
  bool end_object() override { return --depth_, true; }
  bool start_array(std::size_t) override { return value("an array") && ++depth_; }
  bool end_array() override { return --depth_, true; }
  bool parse_error(std::size_t position, const std::string&,
                   const json::exception& error) override {
    std::string what = error.what();
    if (const std::size_t at = what.find("syntax error"); at != std::string::npos)
      what.erase(0, at);
    if (const std::size_t at = what.find("] "); what.starts_with('[') && at < 60)
      what.erase(0, at + 2);
    if (what.size() > kLongestQuote) what = what.substr(0, kLongestQuote) + " ...";
    return fail(cat("invalid JSON at byte ", position, ": ", what));
  }

 private:
  bool fail(std::string what) {
    problem = std::move(what);
    return false;
  }
  bool numeric(const std::string& number) {
    if (depth_ == 1 && key_ == "id") id = number;
    return value("a number");
  }
  // Any value but a string under "text": the whole line must be an object, and its "text" a string.
  bool value(const char* kind) {
    if (depth_ == 0) return fail(cat("the line is ", kind));
    if (depth_ == 1 && key_ == "text") return fail(cat("key \"text\" is ", kind));
    return true;
  }

  std::size_t depth_ = 0;
  std::string key_;
  bool seen_text_ = false;
};

struct LineDocument {
  std::string id;
  std::string text;
};

LineDocument parse_line(std::string_view line, const std::string& place) {
  static const char* const kExpected = "expected one object a line, such as {\"text\": \"...\"}";
  if (line.size() > kLongestLine) {
    throw Error(place, cat("a line of ", human_bytes(static_cast<double>(line.size()))),
                "expected at most 1 GiB a line");
  }
  if (const std::size_t at = first_invalid_utf8(line); at != std::string::npos) {
    refuse_utf8(place, line, at);
  }
  LineReader reader;
  if (!json::sax_parse(line.begin(), line.end(), &reader))
    throw Error(place, reader.problem, kExpected);
  if (!reader.text) throw Error(place, "key \"text\" is missing", kExpected);
  if (reader.id.empty()) reader.id = place;
  return {std::move(reader.id), std::move(*reader.text)};
}

void add_folder(const fs::path& folder, TextFiles& found) {
  std::error_code code;
  std::vector<fs::path> inside;
  fs::recursive_directory_iterator at(folder, code);
  for (; !code && at != fs::recursive_directory_iterator(); at.increment(code)) {
    if (!at->is_regular_file(code)) continue;
    if (!is_text(at->path())) {
      ++found.other_files;
    } else if (at->file_size(code) == 0) {
      ++found.empty_files;
    } else {
      inside.push_back(at->path());
    }
    if (code) break;
  }
  if (code) throw Error(folder.string(), "cannot walk the folder: " + code.message());
  if (inside.empty()) {
    throw Error(folder.string(), "no text in this folder",
                "expected files that end in .txt or .jsonl");
  }
  std::ranges::sort(inside);
  found.files.insert(found.files.end(), inside.begin(), inside.end());
}

void add_file(const fs::path& file, TextFiles& found) {
  if (!is_text(file)) {
    throw Error(file.string(), cat("cannot tell what \"", file.extension().string(), "\" holds"),
                "expected .txt, .jsonl or a folder");
  }
  if (MappedFile(file).bytes().empty()) throw Error(file.string(), "is empty");
  found.files.push_back(file);
}

}  // namespace

TextFiles find_text_files(const std::vector<std::string>& names) {
  TextFiles found;
  for (const std::string& name : names) {
    std::error_code code;
    const fs::file_status status = fs::status(name, code);
    if (!fs::exists(status)) throw Error(name, code ? code.message() : "is missing");
    if (fs::is_directory(status)) {
      add_folder(name, found);
    } else {
      add_file(name, found);
    }
  }
  return found;
}

std::int64_t for_each_line(std::string_view lines, const std::string& name,
                           const DocumentCall& call) {
  std::string_view rest = lines;
  std::int64_t empty = 0;
  for (std::int64_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const LineDocument document = parse_line(line, cat(name, ":", number));
    if (document.text.empty()) {
      ++empty;
    } else if (!call({document.id, document.text})) {
      break;
    }
  }
  return empty;
}

std::int64_t for_each_document(const fs::path& file, const DocumentCall& call) {
  const MappedFile mapped(file);
  const std::string_view text = mapped.text();
  if (file.extension() == ".jsonl") return for_each_line(text, file.string(), call);
  if (text.empty()) return 1;
  if (const std::size_t at = first_invalid_utf8(text); at != std::string::npos) {
    refuse_utf8(file.string(), text, at);
  }
  call({file.string(), text});
  return 0;
}

std::int64_t for_each_document(const std::vector<fs::path>& files, const DocumentCall& call) {
  std::int64_t empty = 0;
  bool more = true;
  for (std::size_t i = 0; more && i < files.size(); ++i) {
    empty += for_each_document(files[i], [&](const DocumentView& document) {
      more = call(document);
      return more;
    });
  }
  return empty;
}

}  // namespace alibi
