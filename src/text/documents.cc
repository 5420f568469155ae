#include "text/documents.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/strings.h"
#include "text/packed_text.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

constexpr std::size_t kLongestLine = std::size_t{1} << 30;
constexpr std::size_t kLargestUnpacked = std::size_t{4} << 30;  // of one document
constexpr std::size_t kLongestQuote = 160;  // of a library's message about a line

[[noreturn]] void refuse_utf8(const std::string& place, std::string_view text, std::size_t at) {
  char byte[8];
  std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(text[at]));
  const bool utf16 = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
  throw Error(place, cat("invalid UTF-8 at byte ", at, ": ", byte),
              utf16 ? "it looks like UTF-16: convert it with iconv" : "convert the text to UTF-8");
}

// One line of a .jsonl file, read event by event: nothing is built but the strings that matter, and
// the library's event reader keeps nesting on the heap, so depth cannot exhaust the stack.
class LineReader : public nlohmann::json_sax<json> {
 public:
  struct Message {
    std::optional<std::string> role, content;
  };
  std::optional<std::string> text, prompt, completion;
  std::optional<std::vector<Message>> messages;
  std::string id;
  std::string problem;       // why the reader stopped
  std::string prompt_fault;  // of prompt and completion
  std::string messages_fault;

  bool null() override { return value("null"); }
  bool boolean(bool) override { return value("a boolean"); }
  bool number_integer(number_integer_t number) override { return numeric(cat(number)); }
  bool number_unsigned(number_unsigned_t number) override { return numeric(cat(number)); }
  bool number_float(number_float_t, const string_t& number) override { return numeric(number); }
  bool string(string_t& string) override {
    if (wanted_ != nullptr && depth_ == 1) {
      *wanted_ = std::move(string);
      return true;
    }
    if (depth_ == 1 && key_ == "id") id = std::move(string);
    if (in_messages_ && depth_ == 3) {
      if (key_ == "role") messages->back().role = std::move(string);
      if (key_ == "content") messages->back().content = std::move(string);
      return true;
    }
    return value("a string");
  }
  bool binary(binary_t&) override { return value("binary"); }
  bool start_object(std::size_t) override {
    return (depth_ == 0 || value("an object")) && ++depth_;
  }
  bool key(string_t& name) override {
    if (in_messages_ && depth_ == 3) key_ = std::move(name);
    if (depth_ != 1) return true;
    key_ = std::move(name);
    wanted_ = place_of(key_);
    return wanted_ == nullptr || !*wanted_ || refuse("occurs twice");
  }
  bool end_object() override { return --depth_, true; }
  bool start_array(std::size_t) override {
    if (depth_ == 1 && key_ == "messages") {
      if (messages) set_messages_fault("occurs twice");
      in_messages_ = true;
      messages.emplace();
      return ++depth_;
    }
    return value("an array") && ++depth_;
  }
  bool end_array() override {
    in_messages_ = in_messages_ && depth_ > 2;
    return --depth_, true;
  }
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
  std::optional<std::string>* place_of(std::string_view name) {
    if (name == "text") return &text;
    if (name == "prompt") return &prompt;
    return name == "completion" || name == "response" ? &completion : nullptr;
  }
  bool fail(std::string what) {
    problem = std::move(what);
    return false;
  }
  bool numeric(const std::string& number) {
    if (depth_ == 1 && key_ == "id") id = number;
    return value("a number");
  }
  // Any value but a string under a key that is read; and the whole line must be an object.
  bool value(const char* kind) {
    if (depth_ == 0) return fail(cat("the line is ", kind));
    if (in_messages_ && depth_ == 2) messages->emplace_back();  // what is no object stays empty
    if (depth_ == 1 && key_ == "messages") set_messages_fault(cat("is ", kind));
    return depth_ != 1 || wanted_ == nullptr || refuse(cat("is ", kind));
  }
  // In a line with "text" the other keys mean nothing, which is known at its end only.
  bool refuse(const std::string& what) {
    const std::string fault = cat("key \"", key_, "\" ", what);
    if (wanted_ == &text) return fail(fault);
    if (prompt_fault.empty()) prompt_fault = fault;
    return true;
  }
  void set_messages_fault(const std::string& what) {
    if (messages_fault.empty()) messages_fault = cat("key \"messages\" ", what);
  }

  std::size_t depth_ = 0;
  bool in_messages_ = false;
  std::string key_;
  std::optional<std::string>* wanted_ = nullptr;  // by the last key
};

struct LineDocument {
  std::string id;
  std::string text;
  std::vector<std::size_t> turns = {};
};

void check_length(std::size_t bytes, const std::string& place) {
  if (bytes <= kLongestLine) return;
  throw Error(place, cat("a line of ", human_bytes(static_cast<double>(bytes))),
              "expected at most 1 GiB a line");
}

bool is_learned(const LineReader::Message& message) { return message.role == "assistant"; }

std::string fault_of(const std::vector<LineReader::Message>& messages) {
  static const std::array known{"system", "developer", "user", "tool", "assistant"};
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& [role, content] = messages[i];
    if (!role || !content)
      return cat("message ", i + 1, " has no \"", role ? "content" : "role", "\" that is a string");
    if (std::ranges::find(known, *role) == known.end())
      return cat("message ", i + 1, " has the role \"", *role, "\"");
  }
  return "";
}

// Contents side by side; nothing where none is learned.
LineDocument document_of(std::string id, const std::vector<LineReader::Message>& messages) {
  LineDocument document{std::move(id), ""};
  bool learned = false, any = false;
  for (const LineReader::Message& message : messages) {
    if (message.content->empty()) continue;
    if (is_learned(message) != learned) document.turns.push_back(document.text.size());
    learned = is_learned(message);
    any = any || learned;
    document.text += *message.content;
  }
  if (!any) document.text.clear();
  return document;
}

// What a sound line holds; empty where that is no text.
std::string fault_of(const LineReader& line) {
  if (line.text) return "";
  if (!line.prompt_fault.empty()) return line.prompt_fault;
  if (!line.prompt && !line.completion) {
    if (!line.messages_fault.empty()) return line.messages_fault;
    return line.messages ? fault_of(*line.messages) : "key \"text\" is missing";
  }
  if (line.prompt && !line.completion) return "has a \"prompt\" and no \"completion\"";
  if (line.completion && !line.prompt) return "has a completion and no \"prompt\"";
  return "";
}

LineDocument parse_line(std::string_view line, const std::string& place) {
  static const char* const kExpected =
      "expected one object a line, such as {\"text\": \"...\"}, {\"prompt\": \"...\", "
      "\"completion\": \"...\"} or {\"messages\": [{\"role\": \"user\", \"content\": \"...\"}, "
      "...]}";
  check_length(line.size(), place);
  if (const std::size_t at = first_invalid_utf8(line); at != std::string::npos) {
    refuse_utf8(place, line, at);
  }
  LineReader reader;
  if (!json::sax_parse(line.begin(), line.end(), &reader))
    throw Error(place, reader.problem, kExpected);
  if (const std::string fault = fault_of(reader); !fault.empty())
    throw Error(place, fault, kExpected);
  if (reader.id.empty()) reader.id = place;
  if (reader.text) return {std::move(reader.id), std::move(*reader.text)};
  if (!reader.prompt) return document_of(std::move(reader.id), *reader.messages);
  if (reader.completion->empty()) return {std::move(reader.id), ""};  // nothing to learn
  return {std::move(reader.id), *reader.prompt + *reader.completion, {reader.prompt->size()}};
}

// The lines of one file, a document each.
class Lines {
 public:
  Lines(std::string name, const DocumentCall& call) : name_(std::move(name)), call_(call) {}
  std::int64_t empty() const { return empty_; }  // documents without text so far

  // False where the call wants no more.
  bool take(std::string_view line) {
    ++number_;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return true;
    const LineDocument document = parse_line(line, cat(name_, ":", number_));
    if (!document.text.empty()) return call_({document.id, document.text, document.turns});
    ++empty_;
    return true;
  }
  void refuse_long(std::size_t bytes) const { check_length(bytes, cat(name_, ":", number_ + 1)); }

 private:
  std::string name_;
  const DocumentCall& call_;
  std::int64_t number_ = 0, empty_ = 0;
};

// Takes the first line from the front of `text`.
std::string_view cut_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::int64_t one_document(std::string_view text, const std::string& name,
                          const DocumentCall& call) {
  if (text.empty()) return 1;
  if (const std::size_t at = first_invalid_utf8(text); at != std::string::npos)
    refuse_utf8(name, text, at);
  call({name, text});
  return 0;
}

std::int64_t unpacked_text(const fs::path& file, const DocumentCall& call) {
  PackedText packed(file);
  std::string text;
  while (packed.read(text)) {
    if (text.size() > kLargestUnpacked)
      throw Error(file.string(), "unpacks to more than 4 GiB",
                  "unpack it, and name what comes out");
  }
  return one_document(text, file.string(), call);
}

std::int64_t unpacked_lines(const fs::path& file, const DocumentCall& call) {
  PackedText packed(file);
  return for_each_line([&](std::string& text) { return packed.read(text); }, file.string(), call);
}

}  // namespace

CutTurns cut_turns(const std::vector<std::size_t>& turns, std::size_t before, std::size_t size) {
  if (turns.empty()) return {};
  CutTurns cut;
  for (const std::size_t turn : turns) {
    if (turn < before)
      cut.first.push_back(turn);
    else
      cut.rest.push_back(turn - before);
  }
  const bool learned = cut.first.size() % 2 == 1;  // at the cut
  if (cut.first.empty()) cut.first = {before};     // an empty list would be a text that is learned
  if (learned) cut.rest.insert(cut.rest.begin(), 0);
  if (cut.rest.empty()) cut.rest = {size - before};
  return cut;
}

bool is_text_file(const fs::path& file) {
  const fs::path ending = unpacked_name(file).extension();
  return ending == ".txt" || ending == ".jsonl";
}

std::int64_t for_each_line(std::string_view lines, const std::string& name,
                           const DocumentCall& call) {
  Lines reader(name, call);
  while (!lines.empty() && reader.take(cut_line(lines))) {
  }
  return reader.empty();
}

// What lies in memory is one part and the line that it begins in the middle of.
std::int64_t for_each_line(const NextPart& more, const std::string& name,
                           const DocumentCall& call) {
  Lines reader(name, call);
  std::string text;
  for (std::size_t seen = 0; more(text); seen = text.size()) {
    std::string_view rest = text;
    for (bool ends = text.find('\n', seen) != std::string::npos; ends;
         ends = rest.find('\n') != std::string_view::npos) {
      if (!reader.take(cut_line(rest))) return reader.empty();
    }
    text.erase(0, text.size() - rest.size());
    reader.refuse_long(text.size());
  }
  if (!text.empty()) reader.take(text);
  return reader.empty();
}

std::int64_t for_each_document(const fs::path& file, const DocumentCall& call) {
  const bool is_lines = unpacked_name(file).extension() == ".jsonl";
  if (is_packed(file)) return is_lines ? unpacked_lines(file, call) : unpacked_text(file, call);
  const MappedFile mapped(file);
  if (is_lines) return for_each_line(mapped.text(), file.string(), call);
  return one_document(mapped.text(), file.string(), call);
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
