// The loop: stopping, guarding, accumulating, validating, saving when it is due.
#include <gtest/gtest.h>

#include <set>

#include "checkpoint/example.h"
#include "checkpoint/load_model.h"
#include "device/libtorch.h"
#include "evaluate/score.h"
#include "support/error_text.h"
#include "support/token_at.h"
#include "train/example.h"

namespace alibi {
namespace {

std::vector<double> losses_of(const TrainExample& example) {
  std::vector<double> losses;
  for (const StepRecord& event : example.events_of<StepRecord>()) losses.push_back(event.loss);
  return losses;
}

std::vector<double> norms_of(const TrainExample& example) {
  std::vector<double> norms;
  for (const StepRecord& event : example.events_of<StepRecord>())
    norms.push_back(event.gradient_norm);
  return norms;
}

TEST(Trainer, SameSeedSameLosses) {
  TrainExample example;
  const std::string small = "initialize.standard_deviation=0.02";
  example.train(example.config("a", {small}), false);
  const auto first = losses_of(example);
  example.train(example.config("b", {small}), false);
  EXPECT_EQ(losses_of(example), first);
  example.train(example.config("c", {small, "run.seed=1"}), false);
  EXPECT_NE(losses_of(example), first);
  EXPECT_LT(first.back(), first.front());
  EXPECT_NEAR(first.front(), std::log(259), 0.3);  // it starts by knowing nothing
}

TEST(Trainer, CountsTokensStepsAndTheSchedule) {
  TrainExample example;
  example.train(example.config("a"), false);
  std::int64_t step = 0;
  for (const StepRecord& event : example.events_of<StepRecord>()) {
    EXPECT_EQ(event.step, ++step);
    EXPECT_EQ(event.tokens, step * kStepTokens);
    if (step <= 2) {
      EXPECT_NEAR(event.learning_rate, 1e-3 * static_cast<double>(step) / 2, 1e-12);
    }
    EXPECT_GT(event.gradient_norm, 0);
  }
  EXPECT_EQ(step, 12);
  EXPECT_NEAR(example.events_of<StepRecord>().back().learning_rate, 1e-4, 1e-9);
}

TEST(Trainer, RoundsTheRunUpToWholeSteps) {
  TrainExample example;
  example.train(example.config("a", {"run.train_tokens=257"}), false);
  EXPECT_EQ(example.newest("a").progress.step, 3);
}

TEST(Trainer, SavesAndValidatesWhenDue) {
  TrainExample example;
  // Cadences that no step meets exactly: 300 is crossed at 384, 640, 1024, ...
  const Config config = example.config(
      "a",
      {"run.evaluate_every_tokens=300", "run.save_every_tokens=500", "run.keep_checkpoints=100"});
  example.train(config, false);
  std::vector<std::int64_t> validated;
  for (const ValidationRecord& event : example.events_of<ValidationRecord>())
    validated.push_back(event.tokens);
  EXPECT_EQ(validated, (std::vector<std::int64_t>{384, 640, 1024, 1280, 1536}));
  std::set<std::int64_t> saved;
  for (const SaveRecord& event : example.events_of<SaveRecord>()) saved.insert(event.step);
  for (const std::int64_t due : {4, 8, 12}) EXPECT_TRUE(saved.contains(due)) << due;
}

TEST(Trainer, LogsWhenDue) {
  TrainExample example;
  example.train(
      example.config("a", {"run.log_every_tokens=512", "data.valid=[]", "data.valid_fraction=0"}),
      false);
  std::vector<std::int64_t> steps;
  for (const std::string& line : example.log("a"))
    steps.push_back(nlohmann::json::parse(line)["step"]);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{4, 8, 12}));
}

TEST(Trainer, KeepsTheBestValidation) {
  TrainExample example;
  example.train(example.config("a", {"run.keep_checkpoints=1"}), false);
  double best = 1e9;
  std::int64_t best_step = 0;
  for (const ValidationRecord& event : example.events_of<ValidationRecord>()) {
    EXPECT_EQ(event.best, event.validation_loss < best);
    if (event.best) best_step = event.step;
    best = std::min(best, event.validation_loss);
  }
  const Progress progress = example.newest("a").progress;
  EXPECT_EQ(progress.best_validation_loss, best);
  EXPECT_EQ(progress.best_step, best_step);
  EXPECT_EQ(load_checkpoint(example.path("a/best"), Load::kAll).progress.step, best_step);
}

// What the best step was, and for how long none was better, is carried over; the best step's
// checkpoint stays though newer ones come. Seen failing with each of the three numbers forgotten on
// resume, and with the best step not handed to the rotation.
TEST(Trainer, TheBestStepOutlivesAResumeAndTheRotation) {
  TrainExample example;
  const auto config = [&](const std::string& run) {
    return example.config(
        run, {"run.patience=2", "optimizer.learning_rate=10", "schedule.warmup_tokens=0",
              "run.evaluate_every_tokens=128", "run.save_every_tokens=128",
              "run.keep_checkpoints=1", "optimizer.clip_norm=0"});
  };
  example.train(config("whole"), false);
  const Progress whole = example.newest("whole").progress;
  ASSERT_EQ(whole.evaluations_without_improvement, 2);
  example.train(config("cut"), false, whole.best_step + 2);  // before its validation
  example.train(config("cut"), true);
  EXPECT_EQ(example.newest("cut").progress, whole);
  for (const char* run : {"whole", "cut"}) {
    const auto folder = std::filesystem::path(example.path(run)) / "checkpoints";
    EXPECT_TRUE(std::filesystem::exists(checkpoint_path(folder, whole.best_step))) << run;
    EXPECT_TRUE(std::filesystem::exists(checkpoint_path(folder, whole.step))) << run;
  }
}

TEST(Trainer, PatienceStopsEarly) {
  TrainExample example;
  // A learning rate of nearly nothing after a jump: validation cannot go on improving.
  const Config config = example.config(
      "a", {"run.patience=2", "optimizer.learning_rate=10", "schedule.warmup_tokens=0",
            "run.evaluate_every_tokens=128", "optimizer.clip_norm=0"});
  EXPECT_EQ(example.train(config, false), 0);
  const Progress progress = example.newest("a").progress;
  EXPECT_TRUE(progress.finished);
  EXPECT_LT(progress.step, 12);
  EXPECT_EQ(progress.evaluations_without_improvement, 2);
  EXPECT_EQ(progress.step, progress.best_step + 2);
  EXPECT_EQ(example.train(config, true), 0);
  EXPECT_TRUE(example.events.empty());
}

// Seen failing with nothing said at the end.
TEST(Trainer, TheStepAtWhichPatienceEndsIsLogged) {
  TrainExample example;
  example.train(example.config("a", {"run.patience=2", "optimizer.learning_rate=10",
                                     "schedule.warmup_tokens=0", "run.evaluate_every_tokens=128",
                                     "optimizer.clip_norm=0", "run.log_every_tokens=100000"}),
                false);
  std::vector<std::int64_t> steps;
  for (const std::string& line : example.log("a"))
    if (const auto record = nlohmann::json::parse(line); record.contains("loss"))
      steps.push_back(record["step"]);
  EXPECT_EQ(steps, std::vector<std::int64_t>{example.newest("a").progress.step});
}

TEST(Trainer, AStopSavesTheFinishedStep) {
  TrainExample example;
  EXPECT_EQ(example.train(example.config("a"), false, 5), 2);
  EXPECT_EQ(example.newest("a").progress.step, 5);
  EXPECT_EQ(example.events_of<SaveRecord>().back().step, 5);
  // At the last step there is nothing left to stop.
  EXPECT_EQ(
      example.train(example.config("b", {"data.valid=[]", "data.valid_fraction=0"}), false, 12), 0);
  EXPECT_TRUE(example.newest("b").progress.finished);
}

// Of held-out text longer than run.validation_tokens, windows from the start to the end are scored.
TEST(Trainer, ValidatesOnWindowsSpreadOverTheHeldOutText) {
  TrainExample example;
  const Config config = example.config("a", {"run.validation_tokens=64"});
  example.train(config, false);
  LoadedModel loaded = load_model(example.path("a"), {});
  const PreparedText text = prepare_text(config.data, config.tokenizer, 1);
  const auto loss_of = [&](const TextSample& sample) {
    const auto windows = windows_of(sample, 8);
    return mean_of(
        scored_losses(sample, score(loaded.model, sample.ids, windows, ScoringOptions())));
  };
  const TextSample spread = sample_tokens(text.valid, {.window = 8, .most = 64});
  ASSERT_EQ(spread.runs.size(), 8U);
  TextSample prefix = spread;
  prefix.ids.resize(64);
  for (std::size_t i = 0; i < 64; ++i)
    prefix.ids[i] = token_at(text.valid, static_cast<std::int64_t>(i));
  prefix.runs = {{.first = 0, .count = 64, .context = 0}};
  const double validated = example.events_of<ValidationRecord>().back().validation_loss;
  EXPECT_NEAR(validated, loss_of(spread), 1e-5);
  EXPECT_GT(std::abs(validated - loss_of(prefix)), 1e-3);
}

// One step over the whole batch and over micro batches of each size: the same weights but for the
// order of sums.
// The norms too: clipping and AdamW hide a gradient that is a multiple of what it should be. Seen
// failing with the losses of the parts not divided by their number.
void micro_batches_add_up(TrainExample& example) {
  const auto weights = [&](const std::string& run, const std::string& micro) {
    example.train(
        example.config(run, {"batch.micro_batch_tokens=" + micro, "model.embedding_dropout=0",
                             "model.attention_dropout=0", "model.residual_dropout=0",
                             "model.mlp_dropout=0", "schedule.warmup_tokens=0"}),
        false, 3);
    return example.newest(run).weights;
  };
  const Tensors whole = weights("whole", "128");
  const std::vector<double> losses = losses_of(example), norms = norms_of(example);
  for (const char* micro : {"64", "32", "8"}) {
    const Tensors parts = weights(std::string("parts-") + micro, micro);
    for (const auto& [name, tensor] : whole)
      EXPECT_LT((tensor - parts.at(name)).abs().max().item<double>(), 1e-5) << micro << " " << name;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      EXPECT_NEAR(losses_of(example)[i], losses[i], 1e-5) << micro;
      EXPECT_NEAR(norms_of(example)[i] / norms[i], 1, 1e-4) << micro;
    }
  }
}

TEST(Trainer, MicroBatchesAddUpToTheWholeBatch) {
  TrainExample example;
  micro_batches_add_up(example);
}

// The parts have more and less to learn. Seen failing with the mean taken part by part.
TEST(Trainer, MicroBatchesAddUpWithPrompts) {
  TrainExample example;
  std::string lines;
  for (int i = 0; i < 200; ++i) {
    lines += "{\"prompt\": \"" + std::string(static_cast<std::size_t>(i * 7 % 60), 'q') +
             "\", \"completion\": \"" + std::string(static_cast<std::size_t>(1 + i * 5 % 17), 'a') +
             "\"}\n";
  }
  example.write("asked.jsonl", lines);
  example.leave_out("data.train=[\"" + example.path("text.txt") + "\"]");
  example.add("data.train=[\"" + example.path("asked.jsonl") + "\"]");
  micro_batches_add_up(example);
}

void poison(Trainer& trainer) {
  const torch::NoGradGuard guard;
  trainer.model()->parameters()[0].view(-1)[0] = std::nan("");
}

TEST(Guard, StopsBeforeAWeightIsTouched) {
  TrainExample example;
  Tensors before;
  Gpt model(nullptr);
  const auto prepare = [&](Trainer& trainer) {
    poison(trainer);
    model = trainer.model();
    for (const auto& [name, tensor] : weights_of(*model)) before[name] = tensor.clone();
  };
  EXPECT_ERROR_AT(error_text([&] { example.train(example.config("a"), false, 0, prepare); }),
                  "step 1", "nan");
  for (const auto& [name, tensor] : weights_of(*model))
    EXPECT_TRUE(torch::equal(tensor.nan_to_num(7), before[name].nan_to_num(7))) << name;
}

TEST(Guard, SkipsAndCounts) {
  TrainExample example;
  Tensors before;
  Gpt model(nullptr);
  const Config config =
      example.config("a", {"guard.non_finite=skip", "data.valid=[]", "data.valid_fraction=0"});
  const auto prepare = [&](Trainer& trainer) {
    trainer.model()->parameters()[0].register_hook(
        [](torch::Tensor gradient) { return gradient * std::nan(""); });
    model = trainer.model();
    for (const auto& [name, tensor] : weights_of(*model)) before[name] = tensor.clone();
  };
  EXPECT_EQ(example.train(config, false, 0, prepare), 0);
  EXPECT_EQ(example.newest("a").progress.skipped_steps, 12);
  for (const auto& [name, tensor] : weights_of(*model))
    EXPECT_TRUE(torch::equal(tensor, before[name])) << name;
  for (const auto& [name, tensor] : example.newest("a").optimizer)
    EXPECT_EQ(tensor.abs().max().item<double>(), 0) << name;
  for (const StepRecord& event : example.events_of<StepRecord>()) {
    EXPECT_NE(event.skipped, "");
    EXPECT_EQ(event.window_starts.size(), 4U);
  }
  EXPECT_NE(example.log("a").front().find("\"gradient_norm\":\"nan\""), std::string::npos);
}

// Seen failing: after a resume the run went on from whatever lay there by then.
TEST(InitializeFrom, ARollbackToTheStartKnowsItsWeightsAfterAResume) {
  TrainExample example;
  example.train(example.config("a"), false);
  const Config config =
      example.config("b", {"initialize.from=" + example.path("a"), "guard.non_finite=roll_back"});
  example.train(config, false, 3);
  const auto poison = [](Trainer& trainer) {
    const torch::NoGradGuard guard;
    trainer.model()->parameters()[0].fill_(std::nan(""));
  };
  example.train(config, true, 4, poison);
  EXPECT_EQ(example.events_of<StepRecord>().front().rolled_back_to, 0);
  remove_tree(example.path("a"));
  const auto rolls_back = [&] {
    return error_text([&] { example.train(config, true, 5, poison); });
  };
  EXPECT_ERROR_AT(rolls_back(), "/initialize/from", example.path("a"));
  example.train(example.config("a", {"run.seed=7"}), false);
  EXPECT_ERROR_AT(rolls_back(), "/initialize/from", example.path("a"));
  EXPECT_EQ(example.train(config, true), 0);  // without a rollback it is not asked for
}

TEST(InitializeFrom, TakesTheWeightsAndNothingElse) {
  TrainExample example;
  example.train(example.config("a"), false);
  const Tensors source = example.newest("a").weights;
  Tensors first;
  example.train(example.config("b", {"initialize.from=" + example.path("a")}), false, 1,
                [&](Trainer& trainer) {
                  for (const auto& [name, tensor] : weights_of(*trainer.model()))
                    first[name] = tensor.clone();
                  Progress untouched;
                  untouched.threads = 1;
                  untouched.arithmetic = trainer.progress().arithmetic;
                  EXPECT_EQ(trainer.progress(), untouched);
                });
  EXPECT_TRUE(same_tensors(first, source));
  const Config wider =
      example.config("c", {"model.width=32", "initialize.from=" + example.path("a")});
  EXPECT_ERROR_AT(error_text([&] { example.train(wider, false); }), "/model/width", 32, 16);
  const Config other = example.config("d", {"tokenizer.kind=bpe", "tokenizer.vocabulary=300",
                                            "initialize.from=" + example.path("a")});
  EXPECT_ERROR_AT(error_text([&] { example.train(other, false); }), "/initialize/from",
                  example.path("a"), "tokenizer.kind");
}

}  // namespace
}  // namespace alibi
