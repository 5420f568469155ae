#include "experiment/measured.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "formats/strict_json.h"
#include "report/curve_files.h"
#include "report/jsonl.h"

namespace alibi {
namespace {

// Members of one object, with what is missing or null taken as not measured.
class Members {
 public:
  Members(const StrictObject& object, std::string place)
      : object_(object), place_(std::move(place)) {}

  std::string at(std::string_view name) const { return cat(place_, "/", name); }
  double number(std::string_view name) const {
    const StrictJson& value = member_of(name);
    const bool null = std::holds_alternative<std::monostate>(value.value);
    return null ? kNotMeasured : as_number(value, at(name));
  }
  bool present(std::string_view name) const {  // and not null
    return !std::holds_alternative<std::monostate>(member_of(name).value);
  }
  std::int64_t count(std::string_view name) const { return as_count(member_of(name), at(name)); }
  std::string text(std::string_view name) const { return as_string(member_of(name), at(name)); }
  bool truth(std::string_view name) const { return as_bool(member_of(name), at(name)); }
  Members member(std::string_view name) const {
    return {as_object(member_of(name), at(name)), at(name)};
  }
  // Of a list of objects.
  std::vector<Members> members(std::string_view name) const {
    std::vector<Members> all;
    for (const StrictJson& value : list(name)) {
      const std::string place = cat(at(name), "/", all.size());
      all.emplace_back(as_object(value, place), place);
    }
    return all;
  }
  const StrictArray& list(std::string_view name) const {
    return as_array(member_of(name), at(name));
  }

 private:
  const StrictJson& member_of(std::string_view name) const {
    return required(object_, name, place_);
  }

  const StrictObject& object_;
  std::string place_;
};

void check_head(const Members& root, const char* kind, std::int64_t version,
                const std::string& place) {
  if (root.count("format_version") == version && root.text("kind") == kind) return;
  throw Error(place,
              cat("found \"", root.text("kind"), "\" of format ", root.count("format_version"),
                  ", expected \"", kind, "\" of format ", version),
              "remove it: it will be written anew");
}

CurvePoint read_point(const Members& m) {
  CurvePoint p;
  p.length = m.count("length");
  p.multiple = m.number("multiple");
  p.applicable = m.truth("applicable");
  p.note = m.text("note");
  p.loss = m.number("loss");
  p.loss_low = m.number("loss_low");
  p.loss_high = m.number("loss_high");
  p.perplexity = m.number("perplexity");
  p.change_from_1x = m.number("change_from_1x");
  p.change_low = m.number("change_low");
  p.change_high = m.number("change_high");
  p.loss_joint_low = m.number("loss_joint_low");
  p.loss_joint_high = m.number("loss_joint_high");
  p.change_joint_low = m.number("change_joint_low");
  p.change_joint_high = m.number("change_joint_high");
  p.bits_per_byte = m.number("bits_per_byte");
  p.word_perplexity = m.number("word_perplexity");
  p.full_loss = m.number("full_loss");
  p.early_gain = m.number("early_gain");
  p.early_gain_low = m.number("early_gain_low");
  p.early_gain_high = m.number("early_gain_high");
  p.context_gain = m.number("context_gain");
  p.context_gain_low = m.number("context_gain_low");
  p.context_gain_high = m.number("context_gain_high");
  p.targets = m.count("targets");
  p.seconds = m.number("seconds");
  p.tokens_per_second = m.number("tokens_per_second");
  p.peak_memory_bytes = m.count("peak_memory_bytes");
  return p;
}

LossChange read_change(const Members& m, const std::string& name) {
  return {m.number(name), m.number(name + "_low"), m.number(name + "_high")};
}

FarContext read_far_context(const Members& m) {
  FarContext far{m.count("window"), m.count("targets"), {}};
  for (const Members& bin : m.members("bins")) {
    far.bins.push_back({bin.count("first"), bin.count("last"), bin.count("targets"),
                        read_change(bin, "swapped"), read_change(bin, "shuffled"),
                        read_change(bin, "cut")});
  }
  return far;
}

Curve read_curve(const Members& m) {
  Curve c;
  c.name = m.text("name");
  c.position = m.text("position");
  c.checkpoint = m.text("checkpoint");
  c.checkpoint_sha256 = m.text("checkpoint_sha256");
  c.step = m.count("step");
  c.trained_length = m.count("trained_length");
  c.sequence_length = m.count("sequence_length");
  c.train_sequence_length_scaling = m.number("train_sequence_length_scaling");
  c.parameters = m.count("parameters");
  for (const StrictJson& slope : m.list("slopes"))
    c.slopes.push_back(as_number(slope, m.at("slopes")));
  for (const Members& point : m.members("points")) c.points.push_back(read_point(point));
  if (m.present("far_context")) c.far_context = read_far_context(m.member("far_context"));
  return c;
}

}  // namespace

CurveSet read_curves(const std::filesystem::path& file) {
  const std::string place = file.string();
  const StrictObject object = parse_strict_json(read_file(file), place);
  const Members root(object, place + ": "), protocol = root.member("protocol"),
                                            text = root.member("text");
  check_head(root, "curve", kCurveFormat, place);
  CurveSet set;
  CurveProtocol& p = set.protocol;
  p.name = protocol.text("name");
  p.stride = protocol.count("stride");
  p.sinks = protocol.count("sinks");
  p.split_stride = protocol.count("split_stride");
  p.description = protocol.text("description");
  p.treatment = protocol.text("treatment");
  p.document_borders = protocol.text("document_borders");
  p.precision = protocol.text("precision");
  p.device = protocol.text("device");
  p.kernel = protocol.text("kernel");
  set.text = {{},
              text.text("selection"),
              text.text("sha256"),
              text.count("tokens_scored"),
              text.count("tokens_cut_off"),
              text.count("bytes"),
              text.count("words")};
  for (const StrictJson& name : text.list("files"))
    set.text.files.push_back(as_string(name, text.at("files")));
  for (const Members& curve : root.members("curves")) set.curves.push_back(read_curve(curve));
  return set;
}

Usage read_usage(const std::filesystem::path& file) {
  const std::string place = file.string();
  const StrictObject object = parse_strict_json(read_file(file), place);
  const Members root(object, place + ": ");
  check_head(root, "usage", 1, place);
  return {root.number("seconds"), root.count("peak_memory_bytes")};
}

std::string usage_json(const Usage& usage) {
  return cat("{\"format_version\": 1, \"kind\": \"usage\", \"seconds\": ", fixed(usage.seconds, 3),
             ", \"peak_memory_bytes\": ", usage.peak_memory_bytes, "}\n");
}

LoggedSteps read_steps(const std::filesystem::path& log) {
  LoggedSteps steps;
  std::int64_t step_tokens = 0;
  std::vector<double> seconds;
  for (const std::string& line : split(read_log(log), '\n')) {
    const bool step = line.find("\"loss\":") != std::string::npos;
    if ((!step && line.find("\"peak_memory_bytes\":") == std::string::npos) || line.back() != '}')
      continue;
    const StrictObject object = parse_strict_json(line, log.string());
    const Members members(object, log.string() + ": ");
    if (!step) {
      steps.peak_memory_bytes =
          std::max(steps.peak_memory_bytes, members.count("peak_memory_bytes"));
      continue;
    }
    steps.tokens = members.count("tokens");
    step_tokens = steps.tokens / std::max<std::int64_t>(1, members.count("step"));
    seconds.push_back(members.number("seconds"));
    steps.seconds += seconds.back();
  }
  if (seconds.empty()) return steps;
  const auto middle = seconds.begin() + std::ssize(seconds) / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  steps.tokens_per_second = static_cast<double>(step_tokens) / *middle;
  return steps;
}

std::int64_t read_trained_tokens(const std::filesystem::path& log) {
  std::ifstream file(log, std::ios::binary | std::ios::ate);
  const std::int64_t size = file ? static_cast<std::int64_t>(file.tellg()) : 0;
  std::string end(static_cast<std::size_t>(std::min<std::int64_t>(size, 4096)), '\0');
  file.seekg(size - std::ssize(end));
  file.read(end.data(), std::ssize(end));
  const std::string key = "\"tokens\":";
  const std::size_t at = end.rfind(key);
  return at == std::string::npos ? 0 : std::atoll(end.c_str() + at + key.size());
}

}  // namespace alibi
