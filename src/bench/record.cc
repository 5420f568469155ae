#include "bench/record.h"

#include "base/strings.h"
#include "json/write.h"

namespace alibi {

std::string bench_json(const BenchRecord& record, const std::string& command_line) {
  std::string text = write_json({{"format_version", 1},
                                 {"benchmark", record.benchmark},
                                 {"command", command_line},
                                 {"machine", record.machine}},
                                kLogLine);
  text.pop_back();  // the closing brace
  text += ",\"rows\":[";
  for (std::size_t i = 0; i < record.rows.size(); ++i)
    text += (i == 0 ? "\n" : ",\n") + write_json(record.rows[i], kLogLine);
  return text + "\n]}\n";
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
