// What a curve says where memory does not last.
#include <gtest/gtest.h>

#include <cmath>
#include <new>
#include <set>

#include "device/memory.h"
#include "evaluate/curve.h"
#include "evaluate/tiny_model.h"
#include "support/error_text.h"

namespace alibi {
namespace {

using test::some_targets;
using test::tiny;
using test::whole;

constexpr std::int64_t kTargets = 1344;

// A curve of three lengths whose passes fail by `error` once more than `first` and up to `last`
// targets are scored.
template <class Failure>
Curve failing(const EvaluateConfig& rules, std::int64_t first, std::int64_t last,
              const Failure& error) {
  LoadedModel loaded = tiny("alibi");
  CurveOptions options{.lengths = {16, 32, 64}, .rules = rules, .progress = {}};
  options.progress = [&](std::int64_t done, std::int64_t) {
    if (done > first && done <= last) throw error;
  };
  return measure_curve(loaded, whole(some_targets(kTargets), 64), options);
}

TEST(OutOfMemory, IsKnownByItsWords) {
  EXPECT_TRUE(is_out_of_memory(std::bad_alloc()));
  EXPECT_TRUE(is_out_of_memory(std::runtime_error("CUDA out of memory. Tried to allocate 2 GiB")));
  EXPECT_TRUE(is_out_of_memory(
      std::runtime_error("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9")));
  EXPECT_TRUE(is_out_of_memory(std::runtime_error("could not create a primitive")));
  EXPECT_FALSE(is_out_of_memory(std::runtime_error("a tensor has another shape")));
}

// In LibTorch's words; memory that did not last is no failure of the device.
TEST(OutOfMemory, AFailedDeviceIsToldFromMemoryThatDidNotLast) {
  const auto fails = [](const char* words) { return is_device_failure(std::runtime_error(words)); };
  EXPECT_TRUE(fails("CUDA error: unspecified launch failure\nCUDA kernel errors might be"));
  EXPECT_TRUE(fails("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling cublasGemmEx"));
  EXPECT_TRUE(fails("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"));
  EXPECT_FALSE(fails("CUDA error: out of memory"));
  EXPECT_FALSE(fails("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"));
  EXPECT_FALSE(fails("a tensor has another shape"));
}

TEST(OutOfMemory, LabelsItsLengthAndMeasuresTheOthers) {
  const Curve curve = failing({}, kTargets, 2 * kTargets, std::bad_alloc());
  ASSERT_EQ(curve.points.size(), 3U);
  EXPECT_TRUE(curve.points[1].out_of_memory);
  EXPECT_TRUE(std::isnan(curve.points[1].loss));
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    EXPECT_FALSE(curve.points[i].out_of_memory) << i;
    EXPECT_TRUE(std::isfinite(curve.points[i].perplexity)) << i;
  }
  EXPECT_FALSE(curve.far_context.bins.empty()) << "20 windows of 64 after the first token";
}

TEST(OutOfMemory, OnePassLosesAllLengths) {
  EvaluateConfig rules;
  rules.protocol = Protocol::kOnePass;
  for (const CurvePoint& point : failing(rules, 0, kTargets, std::bad_alloc()).points)
    EXPECT_TRUE(point.out_of_memory) << point.length;
}

TEST(OutOfMemory, OfASplitLeavesTheLoss) {
  EvaluateConfig rules;
  rules.split_stride = 8;
  const Curve curve = failing(rules, kTargets, 2 * kTargets, std::bad_alloc());
  EXPECT_TRUE(curve.points[0].applicable);
  EXPECT_NAMES(curve.points[0].note, "split", kOutOfMemory);
  EXPECT_TRUE(std::isfinite(curve.points[0].loss));
  EXPECT_TRUE(std::isnan(curve.points[1].context_gain)) << "1x has none to compare with";
  EXPECT_TRUE(std::isfinite(curve.points[1].full_loss));
}

// Seen failing by an assertion, with all that was measured.
TEST(OutOfMemory, OfALaterSplitLeavesAllElse) {
  EvaluateConfig rules;
  rules.split_stride = 8;
  bool failed = false;
  for (std::int64_t first = 3 * kTargets; first < 16 * kTargets; first += kTargets) {
    const Curve curve = failing(rules, first, first + kTargets, std::bad_alloc());
    if (curve.points[1].note.find("split") == std::string::npos) continue;
    failed = true;
    EXPECT_TRUE(std::isfinite(curve.points[0].full_loss));
    EXPECT_TRUE(std::isfinite(curve.points[1].loss));
    EXPECT_TRUE(std::isnan(curve.points[1].context_gain));
    break;
  }
  EXPECT_TRUE(failed);
}

TEST(OutOfMemory, OtherFailuresAreNotHidden) {
  EXPECT_THROW(failing({}, kTargets, 2 * kTargets, std::runtime_error("a fault")),
               std::runtime_error);
}

// Where a longer window is worse than the trained length, leaving context out repairs it and says
// nothing of what context is worth: the longest that is not worse, up to 8 times, is read.
TEST(FarContext, IsMeasuredWhereTheModelIsNoWorseThanAtTheTrainedLength) {
  std::set<std::int64_t> chosen;
  for (const char* position : {"alibi", "sinusoidal"}) {
    LoadedModel loaded = tiny(position, {"batch.sequence_length=16"});  // trained at 8
    CurveOptions options{.lengths = {4, 8, 16, 64, 128}, .rules = {}, .progress = {}};
    const TextSample sample = whole(some_targets(8192), 128);
    const Curve curve = measure_curve(loaded, sample, options);
    std::int64_t expected = 8;
    for (const CurvePoint& point : curve.points) {
      if (point.length > 8 && point.length <= 64 && point.loss <= curve.points[1].loss)
        expected = point.length;
    }
    EXPECT_EQ(curve.far_context.window, expected) << position;
    chosen.insert(expected);
    options.rules.far_context_tokens = 0;
    EXPECT_EQ(measure_curve(loaded, sample, options).far_context.window, 0);
  }
  EXPECT_EQ(chosen.size(), 2U) << "one that is worse beyond 8 tokens and one that is not";
}

TEST(OutOfMemory, OfTheFarContextIsReported) {
  LoadedModel loaded = tiny("alibi");
  CurveOptions options{.lengths = {16, 32}, .rules = {}, .progress = {}};
  int reports = 0;
  options.far_progress = [&](std::int64_t, std::int64_t) {
    if (++reports == 2) throw std::bad_alloc();
  };
  const Curve curve = measure_curve(loaded, whole(some_targets(kTargets), 64), options);
  EXPECT_EQ(reports, 2);
  EXPECT_TRUE(curve.far_context.bins.empty());
  std::string notes;
  for (const CurvePoint& point : curve.points) {
    EXPECT_TRUE(std::isfinite(point.loss)) << point.length;
    notes += point.note;
  }
  EXPECT_NAMES(notes, "far context", kOutOfMemory);
}

}  // namespace
}  // namespace alibi
