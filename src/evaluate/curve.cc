#include "evaluate/curve.h"

#include <algorithm>
#include <exception>
#include <type_traits>

#include "base/clock.h"
#include "base/strings.h"
#include "config/protocols.h"
#include "device/memory.h"
#include "evaluate/far_context.h"
#include "evaluate/figures.h"

namespace alibi {
namespace {

constexpr std::int64_t kFarMultiple = 8;

class CurveMeasurement {
 public:
  CurveMeasurement(LoadedModel& loaded, const TextSample& sample, const CurveOptions& options)
      : loaded_(loaded),
        sample_(sample),
        options_(options),
        protocol_(protocol_row(options.rules.protocol)) {
    const Config& config = loaded.config;
    curve_.position = name_of(config.model.position);
    curve_.checkpoint = loaded.folder.string();
    curve_.step = loaded.progress.step;
    curve_.trained_length = batch_shape(config.batch).length;
    curve_.sequence_length = config.batch.sequence_length;
    curve_.train_sequence_length_scaling = config.batch.train_sequence_length_scaling;
    curve_.parameters = loaded.model->parameter_count();
    curve_.slopes = loaded.model->slopes();
    for (const std::int64_t length : options.lengths) all_.push_back(empty_point(length));
    for (const std::int64_t length : options.lengths)
      total_ += tokens_read(sample, options.rules, length) + split_tokens(length);
  }

  Curve run() {
    if (protocol_.one_pass)
      one_pass();
    else
      each_length();
    fill_family(all_, curve_.trained_length, split());
    if (!protocol_.one_pass) curve_.usable = usable_length(all_, curve_.trained_length);
    if (options_.key_tokens != nullptr)
      fill_key_figures(all_, curve_.trained_length, options_.key_tokens->is_key);
    for (const MeasuredLength& measured : all_) curve_.points.push_back(measured.point);
    look_far();
    return std::move(curve_);
  }

 private:
  MeasuredLength empty_point(std::int64_t length) const {
    MeasuredLength measured;
    CurvePoint& point = measured.point;
    point.length = length;
    point.multiple = static_cast<double>(length) / static_cast<double>(curve_.trained_length);
    const std::string past = past_position_limit(loaded_.config.model, reach(length));
    if (!past.empty()) {
      point.applicable = false;
      point.note = past + (protocol_.streams ? ", and a stream counts on" : "");
    }
    return measured;
  }

  // The largest position that a pass at this length counts to.
  std::int64_t reach(std::int64_t length) const {
    if (!protocol_.streams) return length;
    std::int64_t longest = 0;
    for (const SampleRun& run : sample_.runs) longest = std::max(longest, lead_of(run) + run.count);
    return longest;
  }

  std::int64_t split_tokens(std::int64_t length) const {
    if (!options_.rules.split_stride) return 0;
    return tokens_read_full_context(sample_, options_.rules, length);
  }

  // A length that does not fit into memory is a labelled point; the others are measured.
  void each_length() {
    for (MeasuredLength& measured : all_) {
      const std::int64_t length = measured.point.length;
      if (measured.point.applicable && !fits_in_memory([&] {
            fill(measured, timed(measured.point, [&](const ScoringOptions& scoring) {
                   return score_length(loaded_, sample_, options_.rules, length, scoring);
                 }));
          }))
        label_out_of_memory(measured);
      done_ += tokens_read(sample_, options_.rules, length);
      if (!options_.rules.split_stride) continue;
      if (measured.point.applicable && !fits_in_memory([&] {
            fill_full_context(measured, score_full_context(loaded_, sample_, options_.rules, length,
                                                           scoring_of(measured.point)));
          }))
        note_out_of_memory(measured.point, "its split: ");
      done_ += split_tokens(length);
    }
  }

  Split split() const {
    if (!protocol_.side_by_side) return Split::kNone;
    return options_.rules.split_stride ? Split::kSliding : Split::kLate;
  }

  // `part`: of what a point is made of; "": all of it.
  static void note_out_of_memory(CurvePoint& point, const char* part = "") {
    point.out_of_memory = true;
    point.note += cat(point.note.empty() ? "" : "; ", part, kOutOfMemory);
  }
  static void label_out_of_memory(MeasuredLength& measured) {
    measured.point.applicable = false;
    note_out_of_memory(measured.point);
  }

  void one_pass() {
    std::vector<std::int64_t> lengths;
    MeasuredLength* longest = nullptr;
    for (MeasuredLength& measured : all_) {
      if (!measured.point.applicable) continue;
      lengths.push_back(measured.point.length);
      longest = &measured;
    }
    if (longest == nullptr) return;
    if (!sample_.target_mask.empty()) {
      throw usage_error(
          "/evaluate/protocol",
          "one_pass takes each window's first targets for those of a shorter one, and the text has "
          "prompts, which are no targets",
          "--set evaluate.protocol=non_overlapping");
    }
    total_ = tokens_read(sample_, options_.rules, longest->point.length);
    std::vector<ScoredLength> scored;
    const bool lasted = fits_in_memory([&] {
      scored = timed(longest->point, [&](const ScoringOptions& scoring) {
        return score_one_pass(loaded_, sample_, lengths, scoring);
      });
    });
    if (!lasted) {
      for (MeasuredLength& measured : all_)
        if (measured.point.applicable) label_out_of_memory(measured);
      return;
    }
    auto next = scored.begin();
    for (MeasuredLength& measured : all_) {
      if (measured.point.applicable) fill(measured, std::move(*next++));
    }
  }

  void fill(MeasuredLength& measured, ScoredLength scored) {
    measured.point.visited_share = scored.visited_share;
    if (scored.short_share > 0) {
      measured.point.note = cat(fixed(100 * scored.short_share, 0),
                                " % of its targets stand in shorter windows, where a "
                                "part of the text ends");
    }
    if (!scored.bins.empty())
      curve_.loss_by_position.push_back({measured.point.length, std::move(scored.bins)});
    fill_point(measured, std::move(scored), loaded_.tokenizer);
  }

  // Runs a pass and fills what it cost.
  template <class Pass>
  std::invoke_result_t<const Pass&, const ScoringOptions&> timed(CurvePoint& point,
                                                                 const Pass& pass) {
    reset_peak_memory(loaded_.device);
    const double start = seconds_now();
    auto result = pass(scoring_of(point));
    point.seconds = seconds_now() - start;
    point.tokens_per_second = static_cast<double>(sample_.targets()) / point.seconds;
    point.peak_memory_bytes = peak_memory_bytes(loaded_.device);
    return result;
  }

  ScoringOptions scoring_of(const CurvePoint& point) const {
    ScoringOptions scoring = scoring_at(loaded_, options_.rules, point.length);
    scoring.share = options_.share;
    if (options_.progress) {
      scoring.progress = [this](std::int64_t read) { options_.progress(done_ + read, total_); };
    }
    return scoring;
  }

  // In the longest windows, of at most kFarMultiple times the trained length, at which the model is
  // no worse than at the trained length: where it is, leaving context out repairs it, which
  // does not measure what context is worth.
  void look_far() {
    const auto base = std::find_if(curve_.points.begin(), curve_.points.end(), [&](const auto& p) {
      return p.applicable && p.length == curve_.trained_length;
    });
    if (base == curve_.points.end()) return;
    CurvePoint* longest = &*base;
    for (CurvePoint& point : curve_.points) {
      if (protocol_.streams) break;  // its losses are not those of windows
      if (point.applicable && point.length <= kFarMultiple * curve_.trained_length &&
          point.length > longest->length && point.loss <= base->loss)
        longest = &point;
    }
    if (longest->length < 2 || options_.rules.far_context_tokens == 0) return;
    if (!sample_.target_mask.empty()) return;  // prompts, which are no targets, stand among them
    ScoringOptions scoring = scoring_of(*longest);
    scoring.progress = {};
    if (!fits_in_memory([&] {
          curve_.far_context = measure_far_context(
              loaded_.model, sample_, {longest->length, options_.rules.far_context_tokens}, scoring,
              options_.far_progress);
        }))
      note_out_of_memory(*longest, "its far context: ");
  }

  LoadedModel& loaded_;
  const TextSample& sample_;
  const CurveOptions& options_;
  const ProtocolRow& protocol_;
  Curve curve_;
  std::vector<MeasuredLength> all_;
  std::int64_t total_ = 0, done_ = 0;  // tokens to read in all, read by the passes before
};

}  // namespace

Curve measure_curve(LoadedModel& loaded, const TextSample& sample, const CurveOptions& options) {
  return CurveMeasurement(loaded, sample, options).run();
}

}  // namespace alibi
