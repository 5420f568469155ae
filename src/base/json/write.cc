#include "base/json/write.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/overloaded.h"
#include "base/printable.h"
#include "base/strings.h"

namespace alibi {
namespace {

class Writer {
 public:
  explicit Writer(const JsonStyle& style) : style_(style) {}
  std::string take() { return std::move(out_); }

  void write(const Json& json) {
    json.visit(Overloaded{
        [&](std::monostate) { out_ += "null"; },
        [&](bool truth) { out_ += truth ? "true" : "false"; },
        [&](std::int64_t number) { out_ += std::to_string(number); },
        [&](std::uint64_t number) { out_ += std::to_string(number); },
        [&](double number) { write_number(number); },
        [&](const std::string& text) { write_text(text); },
        [&](const JsonList& list) {
          write_items('[', list, ']', [&](const Json& item) { write(item); });
        },
        [&](const JsonObject& object) { write_object(object); },
    });
  }

 private:
  void write_number(double number) {
    if (std::isfinite(number)) {
      out_ += nlohmann::json(number).dump();
    } else if (style_.not_finite == JsonStyle::NotFinite::kNull) {
      out_ += "null";
    } else {
      out_ += std::isnan(number) ? "\"nan\"" : number > 0 ? "\"inf\"" : "\"-inf\"";
    }
  }

  void write_text(const std::string& text) {
    const bool refuses = style_.invalid_utf8 == JsonStyle::InvalidUtf8::kRefuse;
    if (refuses && first_invalid_utf8(text) != text.npos)
      throw Error(shown(text), "is not valid UTF-8");
    out_ +=
        nlohmann::json(text).dump(-1, ' ', style_.ascii, nlohmann::json::error_handler_t::replace);
  }

  void write_object(const JsonObject& object) {
    const auto write_member = [&](const JsonMember& member) {
      write_text(member.key);
      out_ += is_open() || style_.spaced ? ": " : ":";
      write(member.value);
    };
    if (!style_.sorted) return write_items('{', object, '}', write_member);
    std::vector<const JsonMember*> members;
    for (const JsonMember& member : object) members.push_back(&member);
    std::ranges::sort(members, {}, [](const JsonMember* m) -> std::string_view { return m->key; });
    write_items('{', members, '}', [&](const JsonMember* member) { write_member(*member); });
  }

  template <class Items, class WriteItem>
  void write_items(char open, const Items& items, char close, const WriteItem& write_item) {
    out_ += open;
    ++level_;
    for (const auto& item : items) {
      if (&item != &items.front()) out_ += !is_open() && style_.spaced ? ", " : ",";
      if (is_open()) new_line();
      write_item(item);
    }
    const bool closes_on_its_own = is_open() && !items.empty();
    --level_;
    if (closes_on_its_own) new_line();
    out_ += close;
  }

  // Whether what is inside of the innermost list or object takes a line each.
  bool is_open() const { return style_.indent >= 0 && level_ <= style_.levels; }

  void new_line() {
    out_ += '\n';
    out_.append(static_cast<std::size_t>(level_ * style_.indent), ' ');
  }

  const JsonStyle& style_;
  std::string out_;
  int level_ = 0;
};

}  // namespace

std::string write_json(const Json& json, const JsonStyle& style) {
  Writer writer(style);
  writer.write(json);
  return writer.take();
}

std::string describe(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_list()) return "a list";
  if (const std::string* text = value.as_string()) return '"' + printable(*text, 40) + '"';
  return write_json(value);
}

}  // namespace alibi
