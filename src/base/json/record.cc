#include "base/json/record.h"

#include "base/error.h"

namespace alibi {

void RecordWriter::format(const FormatRule& rule) {
  add("format_version", rule.newest);
  if (rule.kind != nullptr) add("kind", rule.kind);
}

void RecordWriter::add(std::string_view name, Json value) {
  ensure(json_.find(name) == nullptr, "a field is listed twice");
  json_.append(std::string(name), std::move(value));
}

double number_or_word(const JsonReader& json) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string* word = json.json().as_string();
  if (word == nullptr) return json.number();
  if (*word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (*word == "inf") return kInfinity;
  if (*word == "-inf") return -kInfinity;
  json.expected("a number, \"nan\", \"inf\" or \"-inf\"");
}

void RecordReader::format(const FormatRule& rule) {
  known_.emplace_back("format_version");
  if (rule.kind != nullptr) {
    known_.emplace_back("kind");
    object_.expect("kind", rule.kind, rule.way_out);
  }
  const JsonReader version = object_.at("format_version");
  version_ = version.count();
  if (version_ >= rule.oldest && version_ <= rule.newest) return;
  version.expected(
      rule.oldest == rule.newest ? cat(rule.newest) : cat(rule.oldest, " to ", rule.newest),
      rule.way_out);
}

void RecordReader::check_keys() const {
  if (unknown_ == UnknownKeys::kIgnore) return;
  for (const JsonMember& member : object_.object()) {
    if (std::ranges::find(known_, member.key) == known_.end())
      throw Error(object_.place_of(member.key), "unknown key");
  }
}

}  // namespace alibi
