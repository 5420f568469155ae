// What a benchmark found: a table for the terminal and the same figures as JSON.
#pragma once

#include <string>
#include <vector>

#include "base/json/value.h"
#include "bench/timing.h"
#include "report/table.h"

namespace alibi {

struct BenchRecord {
  std::string benchmark;     // "attention"
  std::string machine = {};  // processor, threads
  Table table = {};
  std::vector<Json> rows = {};  // one object each; times in seconds
  std::vector<std::string> notes = {};
};

// {"format_version":1,"kind":"bench","benchmark":...,"command":...,"machine":...,"rows":[...]}
Json bench_value(const BenchRecord& record, const std::string& command_line);
std::string bench_json(const Json& value);  // a row a line

inline TableColumn right(const char* title) { return {title, Align::kRight}; }
std::string milliseconds(const Timing& timing);  // "12.3 (12.1 .. 13.0)"
void add_timing(Json& row, const std::string& name, const Timing& timing);

}  // namespace alibi
