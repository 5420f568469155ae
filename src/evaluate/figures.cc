#include "evaluate/figures.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "evaluate/statistics.h"

namespace alibi {
namespace {

using Draws = std::vector<double>;

template <class Function>
Draws over_draws(std::size_t count, const Function& figure) {
  Draws draws;
  for (std::size_t i = 0; i < count; ++i) draws.push_back(figure(i));
  return draws;
}

Draws changes(const MeasuredLength& measured, const MeasuredLength& base) {
  return over_draws(base.means.size(),
                    [&](std::size_t i) { return std::expm1(measured.means[i] - base.means[i]); });
}

void fill_change(MeasuredLength& measured, const MeasuredLength& base) {
  CurvePoint& point = measured.point;
  point.change_from_1x = std::expm1(point.loss - base.point.loss);
  const Interval interval = middle_95(changes(measured, base));
  point.change_low = interval.low;
  point.change_high = interval.high;
}

// gain = loss(1x) - loss(l) = [early(1x) - early(l)] + [full(1x) - full(l)], where early = loss -
// full is what the targets near the starts of windows cost.
void fill_split(MeasuredLength& measured, const MeasuredLength& base) {
  CurvePoint& point = measured.point;
  const CurvePoint& at_base = base.point;
  point.context_gain = at_base.full_loss - point.full_loss;
  point.early_gain = at_base.loss - point.loss - point.context_gain;
  const Draws context = over_draws(base.full_means.size(), [&](std::size_t i) {
    return base.full_means[i] - measured.full_means[i];
  });
  const Draws early = over_draws(context.size(), [&](std::size_t i) {
    return base.means[i] - measured.means[i] - context[i];
  });
  const Interval of_context = middle_95(context), of_early = middle_95(early);
  point.context_gain_low = of_context.low;
  point.context_gain_high = of_context.high;
  point.early_gain_low = of_early.low;
  point.early_gain_high = of_early.high;
}

void fill_joint(std::vector<MeasuredLength*>& family, const MeasuredLength* base) {
  std::vector<double> losses, shifts;
  std::vector<Draws> loss_draws, change_draws;
  for (const MeasuredLength* measured : family) {
    losses.push_back(measured->point.loss);
    loss_draws.push_back(measured->means);
    shifts.push_back(base == nullptr ? kNotMeasured : measured->point.change_from_1x);
    change_draws.push_back(base == nullptr ? Draws() : changes(*measured, *base));
  }
  const std::vector<Interval> of_losses = joint_95(losses, loss_draws),
                              of_changes = joint_95(shifts, change_draws);
  for (std::size_t i = 0; i < family.size(); ++i) {
    CurvePoint& point = family[i]->point;
    point.loss_joint_low = of_losses[i].low;
    point.loss_joint_high = of_losses[i].high;
    point.change_joint_low = of_changes[i].low;
    point.change_joint_high = of_changes[i].high;
  }
}

}  // namespace

void fill_point(MeasuredLength& measured, const ScoredLength& scored, const Tokenizer& tokenizer) {
  CurvePoint& point = measured.point;
  measured.means = bootstrap_means(scored.losses, scored.block);
  const Interval interval = middle_95(measured.means);
  point.loss = mean_of(scored.losses);
  point.loss_low = interval.low;
  point.loss_high = interval.high;
  point.perplexity = std::exp(point.loss);
  point.perplexity_low = std::exp(interval.low);
  point.perplexity_high = std::exp(interval.high);
  point.targets = std::ssize(scored.losses);
  const double nats = point.loss * static_cast<double>(point.targets);
  const TextSize size = text_size(tokenizer, scored.ids);
  if (size.bytes > 0) point.bits_per_byte = nats / std::numbers::ln2 / double(size.bytes);
  if (size.words > 0) point.word_perplexity = std::exp(nats / double(size.words));
}

void fill_full_context(MeasuredLength& measured, const ScoredLength& scored) {
  measured.point.full_loss = mean_of(scored.losses);
  measured.full_means = bootstrap_means(scored.losses, scored.block);
}

void fill_family(std::vector<MeasuredLength>& family, std::int64_t base_length) {
  std::vector<MeasuredLength*> applicable;
  const MeasuredLength* base = nullptr;
  for (MeasuredLength& measured : family) {
    if (!measured.point.applicable) continue;
    applicable.push_back(&measured);
    if (measured.point.length == base_length) base = &measured;
  }
  for (MeasuredLength* measured : applicable) {
    if (base == nullptr) break;
    fill_change(*measured, *base);
    if (std::isfinite(measured->point.full_loss) && std::isfinite(base->point.full_loss))
      fill_split(*measured, *base);
  }
  fill_joint(applicable, base);
}

}  // namespace alibi
