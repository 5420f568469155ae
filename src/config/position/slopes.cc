#include "config/position/slopes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "config/model_config.h"

namespace alibi {
namespace {

std::vector<double> geometric(std::int64_t count, double bias_max) {
  std::vector<double> slopes;
  for (std::int64_t i = 1; i <= count; ++i) {
    slopes.push_back(std::exp2(-bias_max * static_cast<double>(i) / static_cast<double>(count)));
  }
  return slopes;
}

}  // namespace

std::vector<double> exponential_slopes(std::int64_t heads, double bias_max, std::uint64_t seed) {
  const std::vector<double> rule = geometric(heads, bias_max);
  const double mean = std::accumulate(rule.begin(), rule.end(), 0.0) / static_cast<double>(heads);
  const RandomKey key = RandomKey{seed}.with("slopes");
  std::vector<double> slopes;
  for (std::int64_t h = 0; h < heads; ++h)
    slopes.push_back(-mean * std::log1p(-uniform(key, static_cast<std::uint64_t>(h))));
  std::sort(slopes.begin(), slopes.end(), std::greater<>());
  return slopes;
}

std::vector<double> slopes_by_rule(SlopeRule rule, std::int64_t heads, double bias_max) {
  ensure(heads > 0, "a model has heads");
  ensure(rule != SlopeRule::kExponential, "drawn slopes have a seed");
  if (rule == SlopeRule::kEqual) {
    const auto n = static_cast<double>(heads);
    return std::vector<double>(static_cast<std::size_t>(heads),
                               std::exp2(-bias_max * (n + 1) / (2 * n)));
  }
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  if (rule == SlopeRule::kGeometric || below == heads) return geometric(heads, bias_max);
  std::vector<double> slopes = geometric(below, bias_max);
  const std::vector<double> doubled = geometric(2 * below, bias_max);
  for (std::size_t i = 0; static_cast<std::int64_t>(slopes.size()) < heads; i += 2)
    slopes.push_back(doubled[i]);
  return slopes;
}

std::vector<double> alibi_slopes(const ModelConfig& model) {
  if (!model.slopes.empty()) return model.slopes;
  const std::int64_t heads = model.biased_heads.value_or(model.heads);
  std::vector<double> slopes =
      model.slope_rule == SlopeRule::kExponential
          ? exponential_slopes(heads, model.slope_bias_max,
                               static_cast<std::uint64_t>(model.slope_seed))
          : slopes_by_rule(model.slope_rule, heads, model.slope_bias_max);
  slopes.resize(static_cast<std::size_t>(model.heads));
  return slopes;
}

}  // namespace alibi
