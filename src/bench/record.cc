#include "bench/record.h"

#include "base/json/write.h"
#include "base/strings.h"

namespace alibi {

std::string bench_json(const BenchRecord& record, const std::string& command_line) {
  JsonStyle style = kLogLine;  // and each member and each row on a line of its own
  style.indent = 0;
  style.levels = 2;
  return write_json({{"format_version", 1},
                     {"benchmark", record.benchmark},
                     {"command", command_line},
                     {"machine", record.machine},
                     {"rows", record.rows}},
                    style) +
         "\n";
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
