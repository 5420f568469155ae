#include "evaluate/curve.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/clock.h"
#include "base/strings.h"
#include "device/device.h"
#include "device/memory.h"
#include "evaluate/score.h"
#include "evaluate/statistics.h"
#include "model/position.h"

namespace alibi {
namespace {

// The losses of one length and their resampled means, kept for the paired change from 1x.
struct Measured {
  CurvePoint point;
  std::vector<double> means;
};

// Positions 1, 2, 3-4, 5-8, ...: each bin twice as wide as the one before.
std::vector<PositionBin> position_bins(std::span<const float> losses,
                                       const std::vector<Window>& windows, std::int64_t length) {
  std::vector<PositionBin> bins;
  for (std::int64_t first = 1; first <= length; first = bins.back().last + 1) {
    const std::int64_t last = first == 1 ? 1 : std::min(length, 2 * (first - 1));
    bins.push_back({.first = first, .last = last, .loss = 0, .count = 0});
  }
  for (const Window& window : windows) {
    auto bin = bins.begin();
    for (std::int64_t position = 1; position <= window.length; ++position) {
      if (position > bin->last) ++bin;
      bin->loss += losses[static_cast<std::size_t>(window.first + position - 1)];
      ++bin->count;
    }
  }
  std::erase_if(bins, [](const PositionBin& bin) { return bin.count == 0; });
  for (PositionBin& bin : bins) bin.loss /= static_cast<double>(bin.count);
  return bins;
}

void fill_loss(CurvePoint& point, double loss, Interval interval) {
  point.loss = loss;
  point.loss_low = interval.low;
  point.loss_high = interval.high;
  point.perplexity = std::exp(loss);
  point.perplexity_low = std::exp(interval.low);
  point.perplexity_high = std::exp(interval.high);
}

void fill_change(Measured& measured, const Measured& base) {
  std::vector<double> changes;
  for (std::size_t i = 0; i < base.means.size(); ++i)
    changes.push_back(std::expm1(measured.means[i] - base.means[i]));
  const Interval interval = middle_95(std::move(changes));
  measured.point.change_from_1x = std::expm1(measured.point.loss - base.point.loss);
  measured.point.change_low = interval.low;
  measured.point.change_high = interval.high;
}

class CurveMeasurement {
 public:
  CurveMeasurement(LoadedModel& loaded, const TextSample& sample, const CurveOptions& options)
      : loaded_(loaded),
        sample_(sample),
        options_(options),
        bytes_(text_bytes(loaded.tokenizer, sample)) {}

  Curve run() {
    const Config& config = loaded_.config;
    Curve curve;
    curve.position = position_traits(config.model.position).name;
    curve.checkpoint = loaded_.folder.string();
    curve.step = loaded_.progress.step;
    curve.trained_length = batch_shape(config.batch).length;
    curve.sequence_length = config.batch.sequence_length;
    curve.train_sequence_length_scaling = config.batch.train_sequence_length_scaling;
    curve.parameters = loaded_.model->parameter_count();
    std::vector<Measured> all;
    for (const std::int64_t length : options_.lengths) all.push_back(measure(length, curve));
    const auto base = std::find_if(all.begin(), all.end(), [&](const Measured& m) {
      return m.point.length == curve.trained_length;
    });
    for (Measured& measured : all) {
      if (base != all.end() && base->point.applicable && measured.point.applicable)
        fill_change(measured, *base);
    }
    for (const Measured& measured : all) curve.points.push_back(measured.point);
    return curve;
  }

 private:
  Measured measure(std::int64_t length, Curve& curve) {
    Measured measured;
    CurvePoint& point = measured.point;
    point.length = length;
    point.multiple = static_cast<double>(length) / static_cast<double>(curve.trained_length);
    const auto limit = loaded_.config.model.max_sequence_length;
    if (position_traits(loaded_.config.model.position).has_length_limit && limit &&
        length > *limit) {
      point.applicable = false;
      point.note = cat("learned positions end at ", *limit);
      return measured;
    }
    const std::vector<Window> windows =
        windows_of(options_.protocol, sample_, length,
                   options_.stride > 0 ? options_.stride : std::max<std::int64_t>(1, length / 2));
    const std::vector<float> all = timed_score(point, windows);
    const std::vector<float> losses = scored_losses(sample_, all);
    measured.means = bootstrap_means(losses, sample_.rule.window);
    fill_loss(point, mean_of(losses), middle_95(measured.means));
    const double nats = point.loss * static_cast<double>(losses.size());
    if (bytes_ > 0) point.bits_per_byte = nats / std::numbers::ln2 / static_cast<double>(bytes_);
    point.targets = std::ssize(losses);
    if (options_.protocol == Protocol::kNonOverlapping) {
      curve.loss_by_position.push_back(
          {.length = length, .bins = position_bins(all, windows, length)});
    }
    return measured;
  }

  std::vector<float> timed_score(CurvePoint& point, const std::vector<Window>& windows) {
    const std::int64_t targets = sample_.targets();
    ScoringOptions scoring;
    scoring.batch_tokens = options_.batch_tokens;
    scoring.chunk_rows = loaded_.config.runtime.loss_chunk_rows;
    scoring.separate_documents = loaded_.config.data.separate_documents;
    scoring.stretch = stretch_at(point);
    scoring.device = loaded_.device;
    if (options_.progress) {
      scoring.progress = [&](std::int64_t done) {
        options_.progress(cat("length ", point.length), done, targets);
      };
    }
    reset_peak_memory(loaded_.device);
    const double start = seconds_now();
    std::vector<float> losses = score(loaded_.model, sample_.ids, windows, scoring);
    point.seconds = seconds_now() - start;
    point.tokens_per_second = static_cast<double>(targets) / point.seconds;
    point.peak_memory_bytes = peak_memory_bytes(loaded_.device);
    return losses;
  }

  PositionStretch stretch_at(const CurvePoint& point) const {
    const double factor = options_.stretch_factor > 0 ? options_.stretch_factor : point.multiple;
    return {options_.stretch, factor, batch_shape(loaded_.config.batch).length};
  }

  LoadedModel& loaded_;
  const TextSample& sample_;
  const CurveOptions& options_;
  std::int64_t bytes_;
};

}  // namespace

std::int64_t text_bytes(const Tokenizer& tokenizer, const TextSample& sample) {
  std::int64_t bytes = 0;
  for (const std::int32_t id : sample.scored()) bytes += tokenizer.byte_length(id);
  return bytes;
}

Curve measure_curve(LoadedModel& loaded, const TextSample& sample, const CurveOptions& options) {
  return CurveMeasurement(loaded, sample, options).run();
}

CurveProtocol describe_protocol(const Config& config, torch::Device device,
                                const CurveOptions& options) {
  CurveProtocol protocol;
  const bool sliding = options.protocol == Protocol::kSliding;
  protocol.name = sliding ? "sliding" : "non-overlapping";
  protocol.stride = sliding ? options.stride : 0;
  const std::string stride =
      options.stride > 0 ? cat(options.stride, " targets") : std::string("half a window");
  protocol.description = sliding ? "Windows of each length move on by " + stride +
                                       "; each scores the targets that are new in it."
                                 : "Windows of each length stand side by side; every target is "
                                   "scored once, with what precedes it in its window.";
  protocol.description +=
      " Every length scores the same targets: all of the text, or, where it is longer than "
      "evaluate.max_tokens, whole windows of the longest length spread evenly over it. The text's "
      "first token is predicted from an end-of-document token, that of a later part from what "
      "precedes it in the text.";
  if (options.stretch != Stretch::kNone) {
    protocol.description +=
        cat(" Positions are stretched (", stretch_name(options.stretch), ") by ",
            options.stretch_factor > 0 ? significant(options.stretch_factor, 4)
                                       : std::string("each length over the trained length"),
            ".");
  }
  protocol.document_borders =
      config.data.separate_documents
          ? "Each token sees its own document only."
          : "Documents form one stream and attention crosses their borders, as in training.";
  protocol.precision =
      config.runtime.precision == Precision::kBf16 ? "bf16 activations, fp32 logits" : "fp32";
  protocol.device = describe_device(device);
  return protocol;
}

}  // namespace alibi
