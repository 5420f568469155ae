// The lines of a run's log.jsonl without what the machine did: two runs of one config have the
// same.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace alibi {

inline std::vector<std::string> log_lines(const std::filesystem::path& run) {
  std::vector<std::string> lines;
  std::ifstream file(run / "log.jsonl");
  for (std::string line; std::getline(file, line);) {
    nlohmann::json fields = nlohmann::json::parse(line);
    fields.erase("seconds");
    fields.erase("peak_memory_bytes");
    lines.push_back(fields.dump());
  }
  return lines;
}

}  // namespace alibi
