// Every two of the things that shape a step run together, and where neither changes what is
// computed the loss is that of the plain run. Seen failing with the mean over micro batches not
// divided by their number.
#include <gtest/gtest.h>

#include "device/device.h"
#include "train/example.h"

namespace alibi {
namespace {

struct Feature {
  const char* name;
  std::vector<std::string> changes;
  double tolerance;  // of the loss against the plain run; below 0: another computation
};

// Nothing of the example's own dropout and micro batches.
const std::vector<std::string> kPlain = {"model.embedding_dropout=0",
                                         "model.attention_dropout=0",
                                         "model.residual_dropout=0",
                                         "model.mlp_dropout=0",
                                         "model.learned_slopes=false",
                                         "batch.micro_batch_tokens=128",
                                         "batch.train_sequence_length_scaling=1",
                                         "run.train_tokens=384",
                                         "schedule.warmup_tokens=0"};

const std::vector<Feature>& features() {
  static const std::vector<Feature> all = {
      {"scaling", {"batch.train_sequence_length_scaling=0.25"}, -1},
      {"accumulation", {"batch.micro_batch_tokens=32"}, 1e-5},
      {"recomputation", {"runtime.recompute=blocks"}, 0},
      {"bf16", {"runtime.precision=bf16"}, 0.05},
      {"dropout", {"model.residual_dropout=0.1", "model.attention_dropout=0.1"}, -1},
      {"documents", {"data.separate_documents=true"}, -1},
      {"z-loss", {"guard.z_loss=0.0001"}, -1},
      {"foreground", {"run.save_in_background=false"}, 0},
  };
  return all;
}

class FeatureInteraction : public testing::Test {
 protected:
  // The losses of three steps; stopped after the second and resumed where asked.
  std::vector<double> losses(const std::vector<const Feature*>& chosen, bool resumed) {
    std::vector<std::string> changes = kPlain;
    std::string run = resumed ? "resumed" : "run";
    for (const Feature* feature : chosen) {
      changes.insert(changes.end(), feature->changes.begin(), feature->changes.end());
      run += cat("-", feature->name);
    }
    std::vector<double> all;
    const auto take = [&] {
      for (const StepRecord& event : example_.events_of<StepRecord>()) all.push_back(event.loss);
    };
    const Config config = example_.config(run, changes);
    if (resumed) {
      EXPECT_EQ(example_.train(config, false, 2), 2) << run;
      take();
    }
    EXPECT_EQ(example_.train(config, resumed), 0) << run;
    take();
    std::filesystem::remove_all(example_.path(run));
    return all;
  }

  static bool possible(const Feature& feature) {
    return feature.name != std::string("bf16") || cpu_has_fast_bf16();
  }

  static void expect_near(const std::vector<double>& found, const std::vector<double>& expected,
                          double tolerance, const std::string& what) {
    ASSERT_EQ(found.size(), 3U) << what;
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << what;
  }

  TrainExample example_;
};

TEST_F(FeatureInteraction, RunTogetherAndChangeNothingTheyMustNot) {
  std::int64_t pairs = 0;
  for (const Feature& a : features()) {
    if (!possible(a)) continue;
    const std::vector<double> alone = losses({&a}, false);
    // With itself: a resume, the partner of every feature.
    expect_near(losses({&a}, true), alone, 0, cat(a.name, " and resume"));
    for (const Feature& b : features()) {
      if (&a == &b || !possible(b)) continue;
      const std::vector<double> both = losses({&a, &b}, false);
      const std::string what = cat(a.name, " and ", b.name);
      ++pairs;
      ASSERT_EQ(both.size(), 3U) << what;
      for (const double loss : both) EXPECT_TRUE(loss > 4 && loss < 8) << what << " " << loss;
      // Dropout is drawn for each micro batch: cut elsewhere, it is other dropout. Sums in bf16 are
      // rounded where they are cut.
      const bool cut = b.name == std::string("accumulation");
      if (cut && a.name == std::string("dropout")) continue;
      const double rounding = cut && a.name == std::string("bf16") ? 5e-3 : 0;
      if (b.tolerance >= 0) expect_near(both, alone, std::max(b.tolerance, rounding), what);
    }
  }
  EXPECT_GE(pairs, 42);
}

}  // namespace
}  // namespace alibi
