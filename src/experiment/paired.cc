#include "experiment/paired.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include "base/error.h"
#include "evaluate/statistics.h"

namespace alibi {
namespace {

const CurvePoint* point_at(const ComparedRun& run, std::int64_t length) {
  const auto found = std::find_if(run.curve.points.begin(), run.curve.points.end(),
                                  [&](const CurvePoint& point) { return point.length == length; });
  return found == run.curve.points.end() || !found->applicable ? nullptr : &*found;
}

// What `of_run` takes of every seed's run of a variant, in the order of the seeds; `none` where it
// has no run.
template <class T, class OfRun>
std::vector<T> over_seeds(const Comparison& all, const std::string& variant, const T& none,
                          const OfRun& of_run) {
  std::vector<T> values;
  for (const std::int64_t seed : all.seeds) {
    values.push_back(none);
    for (const ComparedRun& run : all.runs)
      if (run.variant == variant && run.seed == seed) values.back() = of_run(run);
  }
  return values;
}

double measured(const Comparison& all, const CurvePoint& point) {
  return all.measure == Measure::kLoss ? point.loss : point.bits_per_byte;
}

void fill_point(const Comparison& all, const ComparedVariant& variant, ComparedPoint& point) {
  const auto values = [&](const std::string& name, const auto& figure) {
    return over_seeds(all, name, kNotMeasured, [&](const ComparedRun& run) {
      const CurvePoint* found = point_at(run, point.length);
      return found == nullptr ? kNotMeasured : figure(*found);
    });
  };
  point.loss = estimate(values(variant.name, [](const CurvePoint& p) { return p.loss; }));
  // Some seeds may have run out of memory; where all have, the note gives the reason.
  point.applicable = point.loss.count > 0 || point.note.empty();
  point.perplexity = std::exp(point.loss.mean);
  const auto figure = [&](double CurvePoint::*member) {
    return estimate(values(variant.name, [member](const CurvePoint& p) { return p.*member; }));
  };
  point.change = figure(&CurvePoint::change_from_1x);
  point.early_gain = figure(&CurvePoint::early_gain);
  point.context_gain = figure(&CurvePoint::context_gain);
  point.bits_per_byte = figure(&CurvePoint::bits_per_byte).mean;
  point.visited_share = figure(&CurvePoint::visited_share).mean;
  const auto key_loss = [](const CurvePoint& p) { return p.key.loss.mean; };
  point.key_loss = estimate(values(variant.name, key_loss));
  point.key_context_gain =
      estimate(values(variant.name, [](const CurvePoint& p) { return p.key.context_gain.mean; }));
  if (variant.name == all.reference) {
    point.verdict = Verdict::kReference;
    return;
  }
  const auto difference = [&](const auto& of_point) {
    std::vector<double> differences = values(variant.name, of_point);
    const std::vector<double> reference = values(all.reference, of_point);
    for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= reference[i];
    return estimate(differences);
  };
  point.key_difference = difference(key_loss);
  point.difference = difference([&](const CurvePoint& p) { return measured(all, p); });
  point.verdict = judge(point.difference);
}

// Of a run's answers at a length, by depth, what `value` takes of a cell. Memory may have run out
// at one depth only. (A task without depths has one cell.)
template <class Value>
std::vector<double> at_depths(const AnswersResult& result, std::int64_t length,
                              const Value& value) {
  std::vector<double> values;
  for (const AnswersCell& cell : result.cells)
    if (cell.length == length) values.push_back(cell.note.empty() ? value(cell) : kNotMeasured);
  return values;
}

double mean_of_measured(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  return values.empty() ? kNotMeasured : mean_of(values);
}

// Over the depths that both have.
double mean_difference(std::vector<double> values, const std::vector<double>& reference) {
  if (values.size() != reference.size()) return kNotMeasured;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= reference[i];
  return mean_of_measured(std::move(values));
}

// Where more is better.
Estimate negated(Estimate e) {
  e.mean = -e.mean;
  e.low = -std::exchange(e.high, -e.low);
  return e;
}

void fill_answers(const Comparison& all, std::size_t task, const std::string& variant,
                  ComparedAnswers& point) {
  using Depths = std::vector<double>;
  const auto seeds_of = [&](const std::string& name, const auto& value) {
    return over_seeds(all, name, Depths(), [&](const ComparedRun& run) {
      return task < run.answers.size() ? at_depths(run.answers[task], point.length, value)
                                       : Depths();
    });
  };
  const auto means = [](const std::vector<Depths>& seeds) {
    std::vector<double> each;
    for (const Depths& values : seeds) each.push_back(mean_of_measured(values));
    return estimate(each);
  };
  const auto paired = [&](const auto& value, Estimate& mean, Estimate& difference) {
    const std::vector<Depths> seeds = seeds_of(variant, value);
    mean = means(seeds);
    if (variant == all.reference) return;
    const std::vector<Depths> reference = seeds_of(all.reference, value);
    std::vector<double> differences;
    for (std::size_t i = 0; i < seeds.size(); ++i)
      differences.push_back(mean_difference(seeds[i], reference[i]));
    difference = estimate(differences);
  };
  paired([](const AnswersCell& cell) { return cell.share; }, point.share, point.share_difference);
  for (double* end : {&point.share.low, &point.share.high}) *end = std::clamp(*end, 0.0, 1.0);
  paired([](const AnswersCell& cell) { return cell.loss.mean; }, point.loss, point.loss_difference);
  point.size = means(seeds_of(variant, [](const AnswersCell& cell) { return cell.size; })).mean;
  const bool same_tokens = all.measure == Measure::kLoss;
  if (!same_tokens) point.loss_difference = {};  // nats of other tokens
  if (variant == all.reference)
    point.verdict = Verdict::kReference;
  else
    point.verdict = judge(same_tokens ? point.loss_difference : negated(point.share_difference));
  for (const ComparedRun& run : all.runs) {
    if (run.variant != variant || task >= run.answers.size()) continue;
    for (const AnswersCell& cell : run.answers[task].cells)
      if (cell.length == point.length && !cell.note.empty()) point.note = cell.note;
  }
}

// The window that most seeds were measured in, the narrowest of those: seeds may differ in what
// they still read and in whether memory lasted, and another window leaves out another stretch.
std::int64_t common_window(const std::vector<const FarContext*>& seeds) {
  std::map<std::int64_t, int> counts;
  for (const FarContext* far : seeds) ++counts[far->window];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// One kind of change in a bin of every seed.
Estimate over_bins(const std::vector<const FarContext*>& seeds, const FarBin& as,
                   BoundedMean FarBin::*kind) {
  std::vector<double> means;
  for (const FarContext* far : seeds) {
    for (const FarBin& bin : far->bins)
      if (bin.first == as.first && bin.last == as.last) means.push_back((bin.*kind).mean);
  }
  return estimate(means);
}

void fill_far_context(const Comparison& all, ComparedVariant& variant) {
  std::vector<const FarContext*> seeds;
  for (const ComparedRun& run : all.runs) {
    if (run.variant == variant.name && !run.curve.far_context.bins.empty())
      seeds.push_back(&run.curve.far_context);
  }
  variant.far_context.clear();
  if (seeds.empty()) return;
  std::erase_if(seeds, [window = common_window(seeds)](const FarContext* far) {
    return far->window != window;
  });
  for (const FarBin& bin : seeds.front()->bins) {
    variant.far_context.push_back({bin.first, bin.last, over_bins(seeds, bin, &FarBin::swapped),
                                   over_bins(seeds, bin, &FarBin::shuffled),
                                   over_bins(seeds, bin, &FarBin::cut)});
  }
}

}  // namespace

Estimate estimate(std::span<const double> values) {
  std::vector<double> there(values.begin(), values.end());
  std::erase_if(there, [](double value) { return std::isnan(value); });
  Estimate e;
  e.count = static_cast<int>(there.size());
  if (e.count == 0) return e;
  e.mean = mean_of(there);
  if (e.count == 1) return e;
  e.deviation = deviation_of(there);
  e.error = e.deviation / std::sqrt(static_cast<double>(e.count));
  const double reach = student_t_95(e.count - 1) * e.error;
  e.low = e.mean - reach;
  e.high = e.mean + reach;
  return e;
}

Verdict judge(const Estimate& difference) {
  if (difference.count < 2) return Verdict::kUnknown;
  if (difference.high < 0) return Verdict::kBetter;
  return difference.low > 0 ? Verdict::kWorse : Verdict::kNoise;
}

void fill_estimates(Comparison& comparison) {
  for (ComparedVariant& variant : comparison.variants) {
    std::vector<double> seconds, rates;
    for (const ComparedRun& run : comparison.runs) {
      if (run.variant != variant.name) continue;
      seconds.push_back(run.train_seconds);
      rates.push_back(run.train_tokens_per_second);
      variant.train_targets = std::max(variant.train_targets, run.train_targets);
      variant.peak_memory_bytes = std::max(variant.peak_memory_bytes, run.peak_memory_bytes);
    }
    variant.train_seconds = estimate(seconds).mean;
    variant.train_tokens_per_second = estimate(rates).mean;
    for (ComparedPoint& point : variant.points) fill_point(comparison, variant, point);
    fill_far_context(comparison, variant);
  }
  for (std::size_t task = 0; task < comparison.tasks.size(); ++task) {
    for (std::size_t i = 0; i < comparison.variants.size(); ++i)
      for (ComparedAnswers& point : comparison.tasks[task].variants[i])
        fill_answers(comparison, task, comparison.variants[i].name, point);
  }
}

}  // namespace alibi
