// What reports say beside the figures: shared protocols, other texts, failed variants.
#include "experiment/describe.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "experiment/paired.h"
#include "support/error_text.h"

namespace alibi {
namespace {

CurveSet found(const std::string& treatment) {
  CurveSet set;
  set.protocol.name = Protocol::kNonOverlapping;
  set.protocol.treatment = treatment;
  set.protocol.precision = "bf16";
  set.protocol.sinks = 4;
  set.text.sha256 = "0123";
  Curve curve;
  curve.position = "alibi";
  curve.parameters = 7;
  CurvePoint point;
  point.length = 64;
  point.note = "12 % of its targets stand in shorter windows";
  curve.points = {point};
  set.curves = {curve};
  return set;
}

Comparison two_variants() {
  Comparison c;
  c.reference = "a";
  c.seeds = {1};
  for (const char* name : {"a", "b"}) {
    ComparedVariant variant;
    variant.name = name;
    variant.points.emplace_back().length = 64;
    c.variants.push_back(variant);
  }
  return c;
}

ComparedRun run_of(const std::string& variant, const CurveSet& set) {
  ComparedRun run;
  run.variant = variant;
  run.seed = 1;
  run.folder = cat("runs/", variant);
  run.curve = set.curves[0];
  return run;
}

TEST(DescribeRun, KeepsOfTheProtocolWhatAllRunsShare) {
  Comparison c = two_variants();
  CurveSet plain = found("stretched"), other = found("");
  other.protocol.sinks = 0;
  describe_run(c, 0, run_of("a", plain), plain);
  EXPECT_EQ(c.protocol.treatment, "stretched");
  EXPECT_EQ(c.variants[0].position, "alibi");
  EXPECT_EQ(c.variants[0].parameters, 7);
  EXPECT_EQ(c.variants[0].points[0].note, plain.curves[0].points[0].note);
  describe_run(c, 1, run_of("b", other), other);
  EXPECT_EQ(c.protocol.treatment, "") << "only a's is stretched";
  EXPECT_EQ(c.protocol.sinks, 0);
  EXPECT_EQ(c.protocol.precision, "bf16");
}

TEST(DescribeRun, NamesEveryDevice) {
  Comparison c = two_variants();
  CurveSet first = found(""), second = found("");
  first.protocol.device = "cuda:0, a card";
  second.protocol.device = "cpu, 2 threads";
  for (const auto* set : {&first, &second, &first, &second})
    describe_run(c, 0, run_of("a", *set), *set);
  EXPECT_EQ(c.protocol.device, "cuda:0, a card; cpu, 2 threads");
}

TEST(DescribeRun, RefusesLossesOfAnotherText) {
  Comparison c = two_variants();
  CurveSet first = found(""), other = found("");
  other.text.sha256 = "4567";
  describe_run(c, 0, run_of("a", first), first);
  EXPECT_NAMES(error_text([&] { describe_run(c, 1, run_of("b", other), other); }), "b");
  c.measure = Measure::kBitsPerByte;
  describe_run(c, 1, run_of("b", other), other);
}

TEST(LabelFailures, APointWithoutAnyRunSaysWhy) {
  for (const bool memory : {true, false}) {
    Comparison c = two_variants();
    c.seeds = {1, 2};
    CurveSet set = found("");
    set.curves[0].points[0].note.clear();
    c.runs = {run_of("a", set), run_of("b", set), run_of("a", set), run_of("b", set)};
    c.runs[2].seed = c.runs[3].seed = 2;
    const std::string failure = memory ? "training: CUDA out of memory." : "training: a fault";
    c.runs[1].failure = c.runs[2].failure = c.runs[3].failure = failure;
    c.runs[0].curve.points[0].loss = 3;
    for (std::size_t i = 1; i < 4; ++i) c.runs[i].curve = {};
    label_failures(c);
    fill_estimates(c);
    EXPECT_TRUE(c.variants[0].points[0].applicable) << "one seed of a was measured";
    EXPECT_EQ(c.variants[0].points[0].note, "");
    EXPECT_FALSE(c.variants[1].points[0].applicable);
    EXPECT_NAMES(c.variants[1].points[0].note, memory ? kOutOfMemory : "failed");
  }
}

}  // namespace
}  // namespace alibi
