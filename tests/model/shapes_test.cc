// The arithmetic of parameter shapes against real models.
#include "model/shapes.h"
#include "device/libtorch.h"

#include <gtest/gtest.h>

#include "support/tiny_model.h"

namespace alibi {
namespace {

TEST(ParameterShapes, AreThoseOfTheModel) {
  for (const Position position : kAllPositions) {
    for (const ModelConfig& config : {tiny_config(position), rich_config(position)}) {
      Gpt model = std::make_shared<GptImpl>(config, kTinyVocabulary, torch::kFloat);
      std::vector<ParameterShape> real;
      for (const auto& parameter : model->named_parameters())
        real.push_back({parameter.key(), parameter.value().sizes().vec()});
      const std::vector<ParameterShape> shapes = parameter_shapes(config, kTinyVocabulary);
      ASSERT_EQ(shapes.size(), real.size());
      std::int64_t count = 0;
      for (std::size_t i = 0; i < real.size(); ++i) {
        EXPECT_EQ(shapes[i].name, real[i].name);
        EXPECT_EQ(shapes[i].sizes, real[i].sizes) << real[i].name;
        count += shapes[i].count();
      }
      EXPECT_EQ(count, model->parameter_count());
    }
  }
}

// A table of positions is looked up. Seen failing: with 20,000 rows a step was at 265 % of the
// peak.
TEST(MultipliedWeights, AreThoseOfProducts) {
  const ModelConfig none = tiny_config(Position::kNone);
  ModelConfig learned = tiny_config(Position::kLearned);
  learned.max_sequence_length = 20'000;
  const std::int64_t mlp = none.mlp_width.value_or(4 * none.width);
  EXPECT_EQ(multiplied_weights(none, kTinyVocabulary),
            none.layers * (4 * none.width * none.width + 2 * mlp * none.width));
  EXPECT_EQ(multiplied_weights(learned, kTinyVocabulary),
            multiplied_weights(none, kTinyVocabulary));
  EXPECT_EQ(multiplied_weights(tiny_config(Position::kForgetting), kTinyVocabulary),
            multiplied_weights(none, kTinyVocabulary) + none.layers * none.heads * none.width);
}

}  // namespace
}  // namespace alibi
