#include "evaluate/figures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "base/error.h"
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

// What the longer context of one length gains over that of another, nats per token.
struct ContextGain {
  double mean = kNotMeasured;
  Draws draws;
};

double mean_of_kept(const std::vector<float>& losses, std::span<const std::uint8_t> kept) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (kept[i] == 0) continue;
    sum += losses[i];
    count += 1;
  }
  return sum / count;  // NaN of none
}

// Over the same targets: those that are late in the windows of both lengths, and among `is_key`
// where that is given.
ContextGain late_gain(const MeasuredLength& shorter, const MeasuredLength& longer,
                      std::span<const std::uint8_t> is_key = {}) {
  std::vector<float> gains(shorter.losses.size());
  std::vector<std::uint8_t> kept(gains.size());
  for (std::size_t i = 0; i < gains.size(); ++i) {
    gains[i] = shorter.losses[i] - longer.losses[i];
    kept[i] = shorter.late[i] & longer.late[i];
    if (!is_key.empty()) kept[i] &= is_key[i];
  }
  const double mean = mean_of_kept(gains, kept);
  if (std::isnan(mean)) return {};
  return {mean, bootstrap_means(gains, shorter.block_ends, kept)};
}

// Over all targets, from sliding windows.
ContextGain full_gain(const MeasuredLength& shorter, const MeasuredLength& longer) {
  if (shorter.full_means.empty() || longer.full_means.empty()) return {};  // one was not measured
  return {shorter.point.full_loss - longer.point.full_loss,
          over_draws(shorter.full_means.size(),
                     [&](std::size_t i) { return shorter.full_means[i] - longer.full_means[i]; })};
}

// Without an interval where some draws hold nothing to take a mean of.
BoundedMean bounded(double mean, const Draws& draws) {
  if (std::ranges::any_of(draws, [](double draw) { return std::isnan(draw); })) return {mean};
  const Interval interval = middle_95(draws);
  return {mean, interval.low, interval.high};
}

// gain = loss(1x) - loss(l) = longer context + fewer targets near the starts of windows.
void fill_split(MeasuredLength& measured, const MeasuredLength& base, Split split) {
  CurvePoint& point = measured.point;
  if (split == Split::kNone) return;
  const ContextGain gain =
      split == Split::kSliding ? full_gain(base, measured) : late_gain(base, measured);
  if (!std::isfinite(gain.mean)) return;
  point.context_gain = gain.mean;
  point.early_gain = base.point.loss - point.loss - point.context_gain;
  const Draws early = over_draws(gain.draws.size(), [&](std::size_t i) {
    return base.means[i] - measured.means[i] - gain.draws[i];
  });
  const BoundedMean of_context = bounded(point.context_gain, gain.draws),
                    of_early = bounded(point.early_gain, early);
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

void fill_point(MeasuredLength& measured, ScoredLength scored, const Tokenizer& tokenizer) {
  CurvePoint& point = measured.point;
  measured.means = bootstrap_means(scored.losses, scored.block_ends);
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
  if (size.bytes > 0 && size.is_known)
    point.bits_per_byte = nats / std::numbers::ln2 / double(size.bytes);
  if (size.words > 0 && size.is_known) point.word_perplexity = std::exp(nats / double(size.words));
  measured.losses = std::move(scored.losses);
  measured.late = std::move(scored.late);
  measured.block_ends = std::move(scored.block_ends);
}

void fill_full_context(MeasuredLength& measured, const ScoredLength& scored) {
  measured.point.full_loss = mean_of(scored.losses);
  measured.full_means = bootstrap_means(scored.losses, scored.block_ends);
}

void fill_family(std::vector<MeasuredLength>& family, std::int64_t base_length, Split split) {
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
    fill_split(*measured, *base, split);
  }
  fill_joint(applicable, base);
}

void fill_key_figures(std::vector<MeasuredLength>& family, std::int64_t base_length,
                      std::span<const std::uint8_t> is_key) {
  if (std::ranges::count(is_key, 1) == 0) return;
  const MeasuredLength* base = nullptr;
  Draws base_draws;
  double base_loss = kNotMeasured;
  const auto draws_of = [&](const MeasuredLength& measured) {
    return bootstrap_means(measured.losses, measured.block_ends, is_key);
  };
  for (const MeasuredLength& measured : family) {
    if (measured.point.length != base_length || !measured.point.applicable) continue;
    base = &measured;
    base_draws = draws_of(measured);
    base_loss = mean_of_kept(measured.losses, is_key);
  }
  for (MeasuredLength& measured : family) {
    if (!measured.point.applicable) continue;
    ensure(measured.losses.size() == is_key.size(), "every length scores the key tokens");
    const Draws draws = draws_of(measured);
    KeyFigures& key = measured.point.key;
    key.loss = bounded(mean_of_kept(measured.losses, is_key), draws);
    if (base == nullptr) continue;
    key.change =
        bounded(std::expm1(key.loss.mean - base_loss), over_draws(draws.size(), [&](std::size_t i) {
                  return std::expm1(draws[i] - base_draws[i]);
                }));
    if (measured.late.empty()) continue;
    const ContextGain gain = late_gain(*base, measured, is_key);
    key.context_gain = bounded(gain.mean, gain.draws);
  }
}

UsableLength usable_length(const std::vector<MeasuredLength>& family, std::int64_t base_length) {
  std::vector<const MeasuredLength*> measured;  // from the trained length on
  for (const MeasuredLength& one : family)
    if (one.point.applicable && one.point.length >= base_length) measured.push_back(&one);
  if (measured.empty() || measured.front()->point.length != base_length ||
      measured.front()->late.empty())
    return {};
  std::map<std::pair<std::size_t, std::size_t>, ContextGain> gains;  // resampled once a pair
  const auto gain_over = [&](std::size_t shorter, std::size_t longer) -> const ContextGain& {
    const auto [at, is_new] = gains.try_emplace({shorter, longer});
    if (is_new) at->second = late_gain(*measured[shorter], *measured[longer]);
    return at->second;
  };
  // `loss` of the i-th, and whether its gain over one found before `helps`; the trained length is
  // usable in any case.
  const auto longest = [&](const auto& loss, const auto& helps) {
    double best = loss(0);
    for (std::size_t i = 1; i < measured.size(); ++i) best = std::min(best, loss(i));
    std::size_t found = 0;
    for (std::size_t i = 1; i < measured.size(); ++i)
      if (loss(i) <= best + kUsableMargin && helps(gain_over(found, i))) found = i;
    return measured[found]->point.length;
  };
  UsableLength usable;
  usable.tokens =
      longest([&](std::size_t i) { return measured[i]->point.loss; },
              [](const ContextGain& gain) {
                return gain.mean > kLeastContextGain && bounded(gain.mean, gain.draws).low > 0;
              });
  const std::vector<double> tokens =
      over_draws(measured.front()->means.size(), [&](std::size_t draw) {
        return static_cast<double>(longest([&](std::size_t i) { return measured[i]->means[draw]; },
                                           [&](const ContextGain& gain) {
                                             return !gain.draws.empty() &&
                                                    gain.draws[draw] > kLeastContextGain;
                                           }));
      });
  if (tokens.empty()) return {};
  const Interval interval = nearest_95(tokens);
  // A draw has no interval of its own to judge a gain by, so it finds longer lengths usable.
  usable.low = std::min(usable.tokens, static_cast<std::int64_t>(interval.low));
  usable.high = std::max(usable.tokens, static_cast<std::int64_t>(interval.high));
  return usable;
}

}  // namespace alibi
