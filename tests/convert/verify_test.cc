// What was written and read back against the model itself; and GGUF's layout in the file.
#include "convert/verify.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/strings.h"
#include "checkpoint/load_model.h"
#include "convert/gguf_model.h"
#include "device/libtorch.h"
#include "formats/gguf.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"

namespace alibi {
namespace {

Tensors copied(const Gpt& model) {
  Tensors weights = weights_of(*model);
  for (auto& [name, tensor] : weights) tensor = tensor.clone();
  return weights;
}

// Seen failing with verify_export that never throws, with an error of the weights that is always 0,
// and with 4x left out; NaN with the larger taken by std::max.
TEST(Verify, TellsWeightsThatAreOthers) {
  const ModelConfig config = tiny_config(Position::kAlibi);
  Gpt model = tiny_model(config);
  Tensors read = copied(model);
  const Verified same = verify_export(model, config, read, 16, {1, 1e-4}, "file");
  EXPECT_EQ(same.logits, 0);
  EXPECT_EQ(same.weights, 0);
  EXPECT_EQ(same.length, 64);
  read.at("block_0.qkv.weight").view(-1)[3] += 0.5;
  EXPECT_ERROR_AT(error_text([&] {
                    verify_export(model, config, read, 16, {1, 1e-4}, "file");
                  }),
                  "file", "logits");
  EXPECT_GT(verify_export(model, config, read, 16, {1, 1e9}, "file").weights, 1e-3);
  EXPECT_ERROR_AT(error_text([&] {
                    verify_export(model, config, read, 16, {1e-3, 1e9}, "file");
                  }),
                  "file", "block_0.qkv.weight");
  read = copied(model);
  read.at("block_0.up.weight").view(-1)[0] = std::nan("");
  EXPECT_ERROR_AT(error_text([&] {
                    verify_export(model, config, read, 16, {1, 1e9}, "file");
                  }),
                  "file", "block_0.up.weight");
}

// A step of 8 bits is an fp16 number, which ends at 2^-24. Seen refused.
TEST(Verify, RowsOfTinyNumbersAreWrittenInEightBits) {
  const ModelConfig config = tiny_config(Position::kAlibi);
  Gpt model = tiny_model(config);
  torch::NoGradGuard guard;
  const torch::Tensor embedding = model->named_parameters()["embedding"];
  embedding[3].copy_(torch::linspace(-1e-6, 1e-6, embedding.size(1)));
  Tensors read = copied(model);
  const double step = std::round(1e-6 / 127 / 0x1p-24) * 0x1p-24;
  read.at("embedding")[3] =
      step == 0 ? torch::zeros_like(embedding[3]) : (embedding[3] / step).round() * step;
  constexpr double kAny = std::numeric_limits<double>::infinity();
  const auto verify = [&](double rounding) {
    verify_export(model, config, read, 16, {3e-2, kAny, rounding}, "file");
  };
  EXPECT_ERROR_AT(error_text([&] { verify(6e-8); }), "file", "embedding");
  verify(127 * 0x1p-25);
}

// Seen passing with differences held against the norm of the whole tensor.
TEST(Verify, ALostRowOfALargeTensorIsSeen) {
  const ModelConfig config = tiny_config(Position::kAlibi);
  Gpt model = std::make_shared<GptImpl>(config, 50'304, torch::kFloat);
  model->initialize(3, 0.2);
  constexpr double kAny = std::numeric_limits<double>::infinity();
  for (const bool halves : {true, false}) {
    Tensors read = copied(model);
    for (auto& [name, tensor] : read)
      tensor = tensor.to(halves ? torch::kHalf : torch::kBFloat16).to(torch::kFloat);
    const MostDifference most{halves ? 2e-3 : 5e-3, kAny};
    const Verified same = verify_export(model, config, read, 16, most, "file");
    EXPECT_GT(same.weights, halves ? 1e-5 : 1e-4);
    read.at("embedding")[70].zero_();
    EXPECT_ERROR_AT(error_text([&] { verify_export(model, config, read, 16, most, "file"); }),
                    "file", "embedding");
  }
}

// The keys alone say what the model is, as llama.cpp will take them.
TEST(Verify, AGgufFileSpeaksOfTheSameModel) {
  const TemporaryFolder folder;
  for (const Position position : {Position::kAlibi, Position::kLearned, Position::kNone}) {
    ModelConfig config = tiny_config(position);
    config.norm_bias = position == Position::kNone;
    config.attention_bias = config.mlp_bias = position == Position::kLearned;
    if (position == Position::kLearned) config.max_sequence_length = 100;
    Gpt model = std::make_shared<GptImpl>(config, Tokenizer::kByteVocabulary, torch::kFloat);
    model->initialize(3, 0.2);
    const auto path = folder.path() / cat(name_of(position), ".gguf");
    write_gguf_model(path, *model, Tokenizer::bytes(), {GgufElement::kF32, 100, "tiny"});
    const ForeignModel read = read_gguf_model(path, config.activation);
    EXPECT_EQ(read.model.position, position);
    EXPECT_EQ(read.model.heads, config.heads);
    EXPECT_EQ(read.model.max_sequence_length, config.max_sequence_length);
    EXPECT_EQ(read.model.norm_bias, config.norm_bias);
    EXPECT_EQ(read.model.attention_bias, config.attention_bias);
    EXPECT_EQ(read.vocabulary, Tokenizer::kByteVocabulary);
    EXPECT_LT(verify_export(model, read.model, read.weights, 16, {0, 1e-4}, "file").logits, 1e-5);
  }
}

// llama.cpp's rows: q of all heads, then k, then v. Seen failing with them interleaved on writing
// and on reading.
TEST(Verify, GgufKeepsQueriesKeysAndValuesApart) {
  const TemporaryFolder folder;
  Gpt model = std::make_shared<GptImpl>(tiny_config(Position::kAlibi), Tokenizer::kByteVocabulary,
                                        torch::kFloat);
  model->initialize(3, 0.2);
  const auto path = folder.path() / "model.gguf";
  write_gguf_model(path, *model, Tokenizer::bytes(), {GgufElement::kF32, 64, "tiny"});
  const torch::Tensor ours = weights_of(*model).at("block_0.qkv.weight").contiguous();
  const GgufFile file(path);
  for (const GgufTensor& tensor : file.content().tensors) {
    if (tensor.name != "blk.0.attn_qkv.weight") continue;
    ASSERT_EQ(tensor.bytes.size(), static_cast<std::size_t>(ours.nbytes()));
    EXPECT_EQ(std::memcmp(tensor.bytes.data(), ours.data_ptr(), tensor.bytes.size()), 0);
    return;
  }
  FAIL() << "no such tensor";
}

}  // namespace
}  // namespace alibi
