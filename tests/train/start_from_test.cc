// Weights of another run, and the exchange of its position method (Composer's Alibi).
#include "train/start_from.h"
#include "device/libtorch.h"

#include "checkpoint/example.h"
#include "checkpoint/load_model.h"
#include "support/error_text.h"
#include "train/example.h"

namespace alibi {
namespace {

const std::vector<std::string> kLearned = {"model.position=learned"};

std::vector<std::string> from_a(const TrainExample& example,
                                std::vector<std::string> changes = {}) {
  changes.push_back("initialize.from=" + example.path("a"));
  return changes;
}

// Its table of positions is gone with its limit; nothing else is changed, and it trains on.
// Seen failing with the table left among the weights.
TEST(StartFrom, LearnedPositionsBecomeLinearBiases) {
  TrainExample example;
  example.leave_out("model.learned_slopes=true");
  example.train(example.config("a", kLearned), false);
  const Tensors source = example.newest("a").weights;
  ASSERT_TRUE(source.contains("positions"));
  const Config config = example.config("b", from_a(example));
  example.train(config, false, 1, [&](Trainer& trainer) {
    Tensors expected = source;
    expected.erase("positions");
    EXPECT_TRUE(same_tensors(weights_of(*trainer.model()), expected));
    const torch::NoGradGuard guard;
    const torch::Tensor long_text = torch::full({1, 1000}, 5, torch::kLong);
    EXPECT_TRUE(trainer.model()->hidden(long_text).isfinite().all().item<bool>());
  });
  example.train(config, true);
  EXPECT_FALSE(example.newest("b").weights.contains("positions"));
  const Tensors moments = example.newest("b").optimizer;
  EXPECT_TRUE(moments.contains("moment_1.embedding"));
  for (const char* moment : {"moment_1.positions", "moment_2.positions"})
    EXPECT_FALSE(moments.contains(moment)) << moment;
}

TEST(StartFrom, LearnedSlopesBeginWithTheRule) {
  TrainExample example;
  example.leave_out("model.learned_slopes=true");
  example.train(example.config("a", kLearned), false);
  const Config config = example.config("b", from_a(example, {"model.learned_slopes=true"}));
  const Start start = start_from(config, Tokenizer::bytes());
  const std::vector<double> rule = alibi_slopes(config.model);
  EXPECT_EQ(start.weights.at("slopes").size(0), std::ssize(rule));
  EXPECT_NEAR(start.weights.at("slopes")[0].item<double>(), rule[0], 1e-7);
}

// The same method with other numbers is said, not done in silence.
TEST(StartFrom, OtherSlopesAreNamed) {
  TrainExample example;
  example.train(example.config("a"), false);
  const Config config = example.config("b", from_a(example, {"model.slope_bias_max=16"}));
  EXPECT_NAMES(start_from(config, Tokenizer::bytes()).surgery, "/model/slope_bias_max", "8.0",
               "16.0");
}

// Shapes would be the same: nothing else would tell that it is another model.
TEST(StartFrom, AnotherModelOfTheSameShapesIsRefused) {
  TrainExample example;
  example.leave_out("model.learned_slopes=true");
  example.train(example.config("a", kLearned), false);
  const auto fault = [&](const std::vector<std::string>& changes) {
    const Config config = example.config("b", from_a(example, changes));
    return error_text([&] { start_from(config, Tokenizer::bytes()); });
  };
  EXPECT_ERROR_AT(fault({"model.heads=1"}), "/model/heads", 1, 2);
  EXPECT_ERROR_AT(fault({"model.activation=gelu_tanh"}), "/model/activation");
  EXPECT_ERROR_AT(fault({"model.norm_epsilon=0.01"}), "/model/norm_epsilon");
  EXPECT_ERROR_AT(fault({"model.position=sinusoidal"}), "/model/position", "sinusoidal", "learned");
  EXPECT_ERROR_AT(fault({"model.position=t5"}), "/model/position", "t5", "learned");
  for (const char* change : {"model.position=rotary", "model.mlp_dropout=0.2"})
    EXPECT_NO_THROW(start_from(example.config("b", from_a(example, {change})), Tokenizer::bytes()));
}

// As YaRN is trained: a rotary model goes on with longer sequences.
TEST(StartFrom, ARotaryModelGoesOnWithItsPositionsScaled) {
  TrainExample example;
  example.leave_out("model.learned_slopes=true");
  const Config rotary = example.config("a", {"model.position=rotary"});
  example.train(rotary, false);
  const std::int64_t length = batch_shape(rotary.batch).length;
  const Config longer =
      example.config("b", from_a(example, {"model.position=rotary", "model.rotary_scaling=yarn",
                                           cat("model.rotary_original_length=", length),
                                           "batch.train_sequence_length_scaling=1"}));
  EXPECT_EQ(*longer.model.rotary_scaling_factor * static_cast<double>(length),
            static_cast<double>(batch_shape(longer.batch).length));
  EXPECT_GT(*longer.model.rotary_scaling_factor, 1);
  EXPECT_NAMES(start_from(longer, Tokenizer::bytes()).surgery, "/model/rotary_scaling", "yarn");
  Config other = longer;
  other.model.rotary_original_length = length / 2;
  EXPECT_ERROR_AT(error_text([&] { start_from(other, Tokenizer::bytes()); }),
                  "/model/rotary_original_length", length / 2, length);
  // Of one that is scaled already, too: its factor is from there.
  example.train(longer, false);
  const auto again = [&](std::int64_t original) {
    Config config = longer;
    config.initialize.from = example.path("b");
    config.model.rotary_original_length = original;
    start_from(config, Tokenizer::bytes());
  };
  EXPECT_NO_THROW(again(length));
  EXPECT_ERROR_AT(error_text([&] { again(batch_shape(longer.batch).length); }),
                  "/model/rotary_original_length", length);
}

TEST(StartFrom, AnotherShapeIsRefusedByName) {
  TrainExample example;
  example.leave_out("model.learned_slopes=true");
  example.train(example.config("a", kLearned), false);
  const Config longer = example.config(
      "b", from_a(example, {"model.position=learned", "model.max_sequence_length=32"}));
  EXPECT_ERROR_AT(error_text([&] { start_from(longer, Tokenizer::bytes()); }), "/initialize/from",
                  "positions of 8 x 16", "32 x 16");
}

// The weights of a model do not depend on which keys a query sees; but where keys are hashed, one
// projection makes queries and keys.
TEST(StartFrom, APatternOfKeysMayDiffer) {
  TrainExample example;
  example.train(example.config("a"), false);
  const auto start = [&](const std::string& pattern) {
    const Config config =
        example.config("b", from_a(example, {"model.attention_pattern=[\"" + pattern + "\"]"}));
    return start_from(config, Tokenizer::bytes());
  };
  EXPECT_NAMES(start("window(8)").surgery, "/model/attention_pattern", "window(8)");
  EXPECT_TRUE(same_tensors(start("window(8)").weights, example.newest("a").weights));
  EXPECT_ERROR_AT(error_text([&] { start("layers 0: lsh(4, 8, 2)"); }), "/model/attention_pattern",
                  "layer 0", "lsh");
}

}  // namespace
}  // namespace alibi
