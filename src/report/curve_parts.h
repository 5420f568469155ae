// Parts of a curve: losses by position in the window, and what far context is worth.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace alibi {

// Resamples of fewer blocks than this do not show the text's spread (of one they are all equal):
// there are no intervals then.
inline constexpr std::int64_t kLeastBlocks = 4;

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

// Mean loss of the targets at positions first .. last of a window; the first target is position 1.
struct PositionBin {
  std::int64_t first = 0, last = 0;
  double loss = kNotMeasured;
  std::int64_t count = 0;
};

struct LossByPosition {
  std::int64_t length = 0;
  std::vector<PositionBin> bins;
};

// The longest length that a text's reader should pay for, one of those measured: its loss is at
// most kUsableMargin nats per token above the best of all lengths, and its longer context is shown
// to help: targets in the later halves of its windows and of those of the longest length below it
// that is usable gain more than kLeastContextGain nats, with an interval above 0. So measuring one
// more length between two others makes no gain smaller. The trained length is usable in any case.
inline constexpr double kUsableMargin = 0.01, kLeastContextGain = 0.001;

struct UsableLength {
  std::int64_t tokens = 0;         // 0: not measured
  std::int64_t low = 0, high = 0;  // 95 % interval, from resampled text
};

// A mean with its 95 % interval. Of far context: a change of the loss in nats, joint over all bins;
// above 0: it hurts.
struct BoundedMean {
  double mean = kNotMeasured, low = kNotMeasured, high = kNotMeasured;
};

// How key tokens were chosen (config/evaluation_config.h), and how many of the scored targets are.
struct KeyTokenRule {
  std::string evaluator, evaluator_sha256;  // empty: key tokens were not asked for
  std::int64_t short_length = 0, long_length = 0;
  double least_gain = kNotMeasured, most_loss = kNotMeasured;
  std::int64_t tokens = 0;
};

// Of a length's key tokens alone. Change and gain as CurvePoint's; the gain is that of those in the
// later halves of windows of both lengths.
struct KeyFigures {
  BoundedMean loss;          // nats per key token
  BoundedMean change;        // of their perplexity from 1x
  BoundedMean context_gain;  // nats per key token, above 0: better
};

// Targets with first .. last tokens of true context when all that lies farther back is swapped for
// text from elsewhere, shuffled, or not there.
struct FarBin {
  std::int64_t first = 0, last = 0, targets = 0;
  BoundedMean swapped, shuffled, cut;
};

// How far a model looks: what its loss loses when distant context is taken from it (the question of
// Khandelwal et al. 2018).
struct FarContext {
  std::int64_t window = 0;  // tokens read: the far half is changed, the near half scored; 0: none
  std::int64_t targets = 0;
  std::vector<FarBin> bins;  // empty though there is a window: too few of them in the text
};

}  // namespace alibi
