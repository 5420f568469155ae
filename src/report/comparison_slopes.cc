// ALiBi's slopes of a comparison's variants.
#include <algorithm>
#include <set>

#include "base/strings.h"
#include "report/comparison_reports.h"

namespace alibi {
namespace {

using Slopes = std::vector<double>;

// What was measured of a variant, by seed; only the first where all seeds have the same.
std::vector<const ComparedRun*> runs_of(const Comparison& c, const ComparedVariant& variant) {
  std::vector<const ComparedRun*> runs;
  for (const ComparedRun& run : c.runs) {
    if (run.variant == variant.name && !run.curve.slopes.empty()) runs.push_back(&run);
  }
  const bool same = std::all_of(runs.begin(), runs.end(), [&](const ComparedRun* run) {
    return run->curve.slopes == runs.front()->curve.slopes;
  });
  if (same && !runs.empty()) runs.resize(1);
  return runs;
}

bool all_equal(const Comparison& c) {
  std::set<Slopes> slopes;
  for (const ComparedRun& run : c.runs) {
    if (!run.curve.slopes.empty()) slopes.insert(run.curve.slopes);
  }
  return slopes.size() < 2;
}

}  // namespace

Table slopes_table(const Comparison& c) {
  Table table{{{"variant", Align::kLeft}, {"seed", Align::kRight}}, {}};
  if (all_equal(c)) return table;
  std::size_t heads = 0;
  for (const ComparedRun& run : c.runs) heads = std::max(heads, run.curve.slopes.size());
  for (std::size_t head = 1; head <= heads; ++head)
    table.columns.push_back({cat("head ", head), Align::kRight});
  for (const ComparedVariant& variant : c.variants) {
    const auto runs = runs_of(c, variant);
    for (const ComparedRun* run : runs) {
      std::vector<std::string> row = {variant.name, runs.size() > 1 ? cat(run->seed) : "all"};
      for (const double slope : run->curve.slopes) row.push_back(significant(slope, 4));
      row.resize(table.columns.size());
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

std::string comparison_slopes(const Comparison& c) {
  const Table table = slopes_table(c);
  return table.rows.empty() ? "" : cat("slopes as trained\n", format_table(table), "\n");
}

}  // namespace alibi
