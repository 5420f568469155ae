#include "text/json_line.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "base/strings.h"

namespace alibi {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestLine = std::size_t{1} << 30;
// Of lines for simdjson, which takes 14 bytes of memory a byte and keeps them.
constexpr std::size_t kLongestTextLine = std::size_t{4} << 20;
// Older ones take half of a surrogate pair.
constexpr bool kKnowsSurrogates = simdjson::SIMDJSON_VERSION_MAJOR >= 3;
constexpr std::size_t kLongestQuote = 160;  // of a library's message about a line
constexpr const char* kExpected =
    "expected one object a line, such as {\"text\": \"...\"}, {\"prompt\": \"...\", "
    "\"completion\": \"...\"} or {\"messages\": [{\"role\": \"user\", \"content\": \"...\"}, "
    "...]}";

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
      if (key_ == "role") take(messages->back().role, std::move(string));
      if (key_ == "content") take(messages->back().content, std::move(string));
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
    if (wanted_ == nullptr || !*wanted_) return true;
    return refuse(wanted_ == &completion ? "is a second completion" : "occurs twice");
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
  void take(std::optional<std::string>& value, std::string string) {
    if (value) set_messages_fault(cat("has two values of \"", key_, "\" in one message"));
    value = std::move(string);
  }
  void set_messages_fault(const std::string& what) {
    if (messages_fault.empty()) messages_fault = cat("key \"messages\" ", what);
  }

  std::size_t depth_ = 0;
  bool in_messages_ = false;
  std::string key_;
  std::optional<std::string>* wanted_ = nullptr;  // by the last key
};

bool is_learned(const LineReader::Message& message) { return message.role == "assistant"; }

std::string fault_of(const std::vector<LineReader::Message>& messages) {
  static const std::array known{"system", "developer", "user", "tool", "assistant"};
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& [role, content] = messages[i];
    if (!role || !content)
      return cat("message ", i + 1, " has no \"", role ? "content" : "role", "\" that is a string");
    if (std::ranges::find(known, *role) == known.end())
      return cat("message ", i + 1, " has the role ", shown(*role));
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

// As LineReader reads the key "id"; false where only that knows the digits.
bool read_id(const simdjson::dom::element& value, std::string& id) {
  switch (value.type()) {
    case simdjson::dom::element_type::STRING:
      id = std::string_view(value);
      return true;
    case simdjson::dom::element_type::INT64:
      id = cat(std::int64_t(value));
      return true;
    case simdjson::dom::element_type::UINT64:
      id = cat(std::uint64_t(value));
      return true;
    case simdjson::dom::element_type::DOUBLE:
      return false;
    default:
      return true;
  }
}

}  // namespace

void check_line_length(std::size_t bytes, const std::string& place) {
  if (bytes <= kLongestLine) return;
  throw Error(place, cat("a line of ", human_bytes(static_cast<double>(bytes))),
              "expected at most 1 GiB a line");
}

void check_utf8(std::string_view text, const std::string& place) {
  const std::size_t at = first_invalid_utf8(text);
  if (at == std::string::npos) return;
  char byte[8];
  std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(text[at]));
  const bool utf16 = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
  throw Error(place, cat("invalid UTF-8 at byte ", at, ": ", byte),
              utf16 ? "it looks like UTF-16: convert it with iconv" : "convert the text to UTF-8");
}

LineDocument read_any_line(std::string_view line, const std::string& place) {
  check_utf8(line, place);
  // The parser takes a zero byte for the end of its input, so whatever follows one would be lost.
  if (const std::size_t zero = line.find('\0'); zero != line.npos)
    throw Error(place, cat("holds a zero byte, at byte ", zero), kExpected);
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

std::optional<LineDocument> read_text_line(std::string_view line, const std::string& place) {
  if (line.size() > kLongestTextLine) return {};
  if (!kKnowsSurrogates && (line.find("\\ud") != line.npos || line.find("\\uD") != line.npos))
    return {};
  thread_local simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(line.data(), line.size()).get(object) != simdjson::SUCCESS) return {};
  std::optional<LineDocument> document;
  std::string id;
  for (const auto& [key, value] : object) {
    if (key == "id" && !read_id(value, id)) return {};
    if (key != "text") continue;
    if (document || !value.is_string()) return {};
    document.emplace().text = std::string_view(value);
  }
  if (document) document->id = id.empty() ? place : std::move(id);
  return document;
}

LineDocument read_line(std::string_view line, const std::string& place) {
  check_line_length(line.size(), place);
  if (auto document = read_text_line(line, place)) return *std::move(document);
  return read_any_line(line, place);
}

}  // namespace alibi
