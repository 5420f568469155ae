#include "report/template.h"

#include <cmath>

#include "base/error.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "report/svg.h"
#include "report/table.h"

namespace alibi {
namespace {

struct Format {
  std::string_view name;
  std::string (*write)(double value);
};

// What was not measured is "-" whatever the format.
constexpr Format kFormats[] = {
    {"four", four_digits},
    {"percent", percent},
    {"share", share_text},
    {"times", times},
    {"signed", signed_figure},
    {"fixed4", [](double value) { return fixed(value, 4); }},
    {"six", [](double value) { return significant(value, 6); }},
    {"commas", [](double value) { return with_commas(std::llround(value)); }},
    {"count", human_count},
    {"bytes", human_bytes},
    {"seconds", human_seconds},
};

std::string formatted(const Json& value, std::string_view format) {
  const double number = value.as_number().value_or(NAN);
  if (!std::isfinite(number)) return "-";
  for (const Format& each : kFormats)
    if (each.name == format) return each.write(number);
  ensure(false, "a format of the list");
  return "";
}

std::string plain(const Json& value) {
  if (value.is_null()) return "";
  if (const std::string* text = value.as_string()) return *text;
  return write_json(value, {.spaced = true, .invalid_utf8 = JsonStyle::InvalidUtf8::kReplace});
}

bool holds(const Json& value) {
  if (value.is_number()) return std::isfinite(*value.as_number()) && *value.as_number() != 0;
  if (const std::string* text = value.as_string()) return !text->empty();
  return value.as_bool().value_or(!value.empty());
}

class Filler {
 public:
  explicit Filler(const Json& values) : scopes_{&values} {}

  // Whether a closing tag ends the part; what is behind that is left in `rest`.
  bool part(std::string_view& rest, bool shown) {
    while (true) {
      const std::size_t open = rest.find("{{");
      if (shown) out_ += rest.substr(0, open);
      if (open == rest.npos) return false;
      rest.remove_prefix(open + 2);
      const bool raw = rest.starts_with('{');
      const std::size_t close = rest.find(raw ? "}}}" : "}}");
      ensure(close != rest.npos && close > 0, "a tag has an end");
      const std::string_view tag = rest.substr(raw ? 1 : 0, close - (raw ? 1 : 0));
      rest.remove_prefix(close + (raw ? 3 : 2));
      if (std::string_view("#^/").find(tag[0]) != tag.npos && rest.starts_with('\n'))
        rest.remove_prefix(1);
      if (tag[0] == '/') return true;
      if (tag[0] == '#' || tag[0] == '^')
        section(tag, rest, shown);
      else if (shown && tag[0] == '>')
        whole(page_file(tag.substr(1)));
      else if (shown)
        out_ += raw ? plain(at(tag)) : escape_markup(text_of(tag));
    }
  }

  void whole(std::string_view text) { ensure(!part(text, true), "a closing tag closes a section"); }

  std::string take() { return std::move(out_); }

 private:
  const Json& at(std::string_view name) const {
    if (name == ".") return *scopes_.back();
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const Json* value = (*scope)->find(name)) return *value;
    ensure(false, cat("a page's values have \"", name, "\"").c_str());
    return *scopes_.back();
  }

  std::string text_of(std::string_view tag) const {
    const std::size_t colon = tag.find(':');
    const std::string name(tag.substr(0, colon));
    if (colon == tag.npos) return plain(at(name));
    std::string_view format = tag.substr(colon + 1);
    if (!format.ends_with(" ..")) return formatted(at(name), format);
    format.remove_suffix(3);
    const std::string low = formatted(at(name + "_low"), format);
    return low == "-" ? low : low + " to " + formatted(at(name + "_high"), format);
  }

  void section(std::string_view tag, std::string_view& rest, bool shown) {
    const std::string_view body = rest;
    const auto once = [&](bool wanted) {
      rest = body;
      ensure(part(rest, wanted), "a section is closed");
    };
    const std::string_view name = tag.substr(1);
    const std::size_t equals = name.find("==");
    if (!shown) return once(false);
    if (equals != name.npos) {
      const bool equal = at(name.substr(0, equals)) == at(name.substr(equals + 2));
      return once(equal == (tag[0] == '#'));
    }
    const Json& value = at(name);
    if (tag[0] == '^') return once(!holds(value));
    if (!holds(value)) return once(false);
    const JsonList* list = value.as_list();
    for (std::size_t i = 0; i < (list == nullptr ? 1 : list->size()); ++i) {
      scopes_.push_back(list == nullptr ? &value : &(*list)[i]);
      once(true);
      scopes_.pop_back();
    }
  }

  std::vector<const Json*> scopes_;
  std::string out_;
};

}  // namespace

std::string fill(std::string_view text, const Json& values) {
  Filler filler(values);
  filler.whole(text);
  return filler.take();
}

std::string fill_page(std::string_view file, const Json& values) {
  return fill(page_file(file), values);
}

}  // namespace alibi
