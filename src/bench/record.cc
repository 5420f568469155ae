#include "bench/record.h"

#include "base/json/write.h"
#include "base/strings.h"

namespace alibi {

Json bench_value(const BenchRecord& record, const std::string& command_line) {
  return {{"format_version", 1},     {"kind", "bench"},           {"benchmark", record.benchmark},
          {"command", command_line}, {"machine", record.machine}, {"notes", record.notes},
          {"rows", record.rows}};
}

std::string bench_json(const Json& value) {
  JsonStyle style = kLogLine;  // and each member and each row on a line of its own
  style.indent = 0;
  style.levels = 2;
  return write_json(value, style) + "\n";
}

std::string milliseconds(const Timing& timing) {
  const auto ms = [](double seconds) { return four_digits(1e3 * seconds); };
  return cat(ms(timing.median), " (", ms(timing.least), " .. ", ms(timing.most), ")");
}

void add_timing(Json& row, const std::string& name, const Timing& timing) {
  row[name + "_seconds"] = timing.median;
  row[name + "_least"] = timing.least;
  row[name + "_most"] = timing.most;
  row[name + "_runs"] = timing.runs;
}

}  // namespace alibi
