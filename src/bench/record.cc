#include "bench/record.h"

#include "base/strings.h"

namespace alibi {

std::string bench_json(const BenchRecord& record, const std::string& command_line) {
  std::string text = json_line({{"format_version", std::int64_t{1}},
                                {"benchmark", record.benchmark},
                                {"command", command_line},
                                {"machine", record.machine}});
  text.pop_back();  // the closing brace
  text += ",\"rows\":[";
  for (std::size_t i = 0; i < record.rows.size(); ++i)
    text += (i == 0 ? "\n" : ",\n") + json_line(record.rows[i]);
  return text + "\n]}\n";
}

std::string milliseconds(const Timing& timing) {
  const auto ms = [](double seconds) { return four_digits(1e3 * seconds); };
  return cat(ms(timing.median), " (", ms(timing.least), " .. ", ms(timing.most), ")");
}

void add_timing(JsonFields& fields, const std::string& name, const Timing& timing) {
  fields.emplace_back(name + "_seconds", timing.median);
  fields.emplace_back(name + "_least", timing.least);
  fields.emplace_back(name + "_most", timing.most);
  fields.emplace_back(name + "_runs", std::int64_t{timing.runs});
}

}  // namespace alibi
