#include "experiment/measured.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/record.h"
#include "json/write.h"
#include "report/jsonl.h"

namespace alibi {

template <class Fields>
void fields(Fields& f, Usage& usage) {
  f.format({.kind = "usage", .way_out = "remove it: it will be written anew"});
  f("seconds", usage.seconds);
  f("peak_memory_bytes", usage.peak_memory_bytes);
}

Usage read_usage(const std::filesystem::path& file) {
  const Json json = parse_json(read_file(file), file.string());
  return read_record<Usage>(JsonReader(json, file.string()));
}

std::string usage_json(const Usage& usage) {
  return write_json(to_json(usage), {.spaced = true}) + "\n";
}

LoggedSteps read_steps(const std::filesystem::path& log) {
  LoggedSteps steps;
  std::int64_t step_tokens = 0;
  std::vector<double> seconds;
  for (const std::string& line : split(read_log(log), '\n')) {
    const bool step = line.find("\"loss\":") != std::string::npos;
    if ((!step && line.find("\"peak_memory_bytes\":") == std::string::npos) || line.back() != '}')
      continue;
    const Json json = parse_json(line, log.string());
    const JsonReader members(json, log.string());
    if (!step) {
      steps.peak_memory_bytes =
          std::max(steps.peak_memory_bytes, members.at("peak_memory_bytes").count());
      continue;
    }
    steps.tokens = members.at("tokens").count();
    step_tokens = steps.tokens / std::max<std::int64_t>(1, members.at("step").count());
    seconds.push_back(members.at("seconds").number());
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
