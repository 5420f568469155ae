// Folders of transformers written and read back: layouts, shards, and folders that lie.
#include "convert/huggingface.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json/parse.h"
#include "base/stop.h"
#include "base/strings.h"
#include "checkpoint/load_model.h"
#include "device/libtorch.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;

ModelConfig mpt_model() {
  ModelConfig model = tiny_config(Position::kAlibi);
  model.tied_head = false;
  return model;
}

ModelConfig bloom_model() {
  ModelConfig model = tiny_config(Position::kAlibi);
  model.attention_bias = model.mlp_bias = model.norm_bias = model.embedding_norm = true;
  model.activation = Activation::kGeluTanh;
  return model;
}

// Every weight another number, biases and norms too.
Gpt drawn_model(const ModelConfig& config, std::int64_t vocabulary) {
  Gpt model = std::make_shared<GptImpl>(config, vocabulary, torch::kFloat);
  const torch::NoGradGuard guard;
  torch::manual_seed(5);
  for (torch::Tensor& parameter : model->parameters()) parameter.normal_(0, 0.3);
  return model;
}

class HuggingFace : public testing::Test {
 protected:
  fs::path write(const Gpt& model, const HuggingFaceOptions& options) const {
    make_folders(path());
    write_huggingface(path(), *model, Tokenizer::bytes(), options);
    return path();
  }
  fs::path path() const { return folder_.path() / "hf"; }
  std::string fault() const {
    return error_text([&] { read_huggingface(path()); });
  }
  void replace(const char* file, const std::string& from, const std::string& to) const {
    std::string text = read_file(path() / file);
    ASSERT_NE(text.find(from), std::string::npos) << from;
    write_file_atomic(path() / file, text.replace(text.find(from), from.size(), to));
  }
  TemporaryFolder folder_;
};

TEST_F(HuggingFace, ASignalEndsTheReading) {
  write(drawn_model(mpt_model(), Tokenizer::kByteVocabulary), {.target = Dialect::kMpt});
  request_stop(15);
  EXPECT_NAMES(fault(), 15);
  clear_stop();
  EXPECT_EQ(read_huggingface(path()).vocabulary, Tokenizer::kByteVocabulary);
}

TEST_F(HuggingFace, ReadsBackTheSameModel) {
  for (const Dialect target : {Dialect::kMpt, Dialect::kBloom}) {
    const ModelConfig config = target == Dialect::kMpt ? mpt_model() : bloom_model();
    Gpt model = drawn_model(config, Tokenizer::kByteVocabulary);
    const ForeignModel read = read_huggingface(write(model, {.target = target}));
    EXPECT_EQ(read.vocabulary, Tokenizer::kByteVocabulary);
    EXPECT_EQ(read.tokenizer_model, read_file(path() / "tokenizer.json"));
    Gpt other = std::make_shared<GptImpl>(read.model, read.vocabulary, torch::kFloat);
    copy_weights(read.weights, *other, "read");
    const torch::Tensor tokens = tiny_tokens(2, 40);
    EXPECT_TRUE(torch::equal(tiny_logits(model, tokens), tiny_logits(other, tokens)));
    remove_tree(path());
  }
}

// Our own modelling file takes any model.
TEST_F(HuggingFace, OwnCodeHoldsAnyModel) {
  for (const Position position : {Position::kAlibi, Position::kSinusoidal, Position::kLearned,
                                  Position::kRotary, Position::kT5, Position::kNone}) {
    ModelConfig config = tiny_config(position);
    config.attention_bias = config.embedding_norm = true;
    config.mlp_width = 24;
    config.activation = Activation::kGeluTanh;
    if (position == Position::kAlibi)
      config.slopes.assign(static_cast<std::size_t>(config.heads), 0.3);
    config.t5_shared = false;
    Gpt model = drawn_model(config, Tokenizer::kByteVocabulary);
    const ForeignModel read = read_huggingface(write(model, {.target = Dialect::kOwn}));
    Gpt other = std::make_shared<GptImpl>(read.model, read.vocabulary, torch::kFloat);
    copy_weights(read.weights, *other, "read");
    const torch::Tensor tokens = tiny_tokens(2, 30);
    EXPECT_TRUE(torch::equal(tiny_logits(model, tokens), tiny_logits(other, tokens)));
    if (position != Position::kNone) remove_tree(path());
    if (position != Position::kNone) continue;
    replace("config.json", "\"heads\"", "\"haeds\"");
    EXPECT_ERROR_AT(fault(), "config.json: /model: /model/haeds", "heads");
    replace("config.json", "\"model\"", "\"modle\"");
    EXPECT_ERROR_AT(fault(), "config.json: /model", "missing");
  }
}

// Seen failing: they were not read, and the model had others than in Python.
TEST_F(HuggingFace, OwnSlopesThatWereChangedAreRefused) {
  Gpt model = drawn_model(tiny_config(Position::kAlibi), Tokenizer::kByteVocabulary);
  write(model, {.target = Dialect::kOwn});
  replace("config.json", "0.0625", "0.0626");
  EXPECT_ERROR_AT(fault(), "config.json: /slopes", "/model/slopes");
}

// BLOOM keeps q, k and v of a head together; a row of ours must land in its head's place.
// The rows in the file, not what our own reader makes of them: q of all heads, then k, then v.
// Seen failing with MPT's rows interleaved on writing and on reading.
TEST_F(HuggingFace, MptKeepsQueriesKeysAndValuesApart) {
  Gpt model = drawn_model(mpt_model(), Tokenizer::kByteVocabulary);
  const Tensors file = load_tensors(write(model, {}) / "model.safetensors");
  const Tensors ours = weights_of(*model);
  EXPECT_TRUE(torch::equal(file.at("transformer.blocks.0.attn.Wqkv.weight"),
                           ours.at("block_0.qkv.weight")));
  EXPECT_TRUE(torch::equal(file.at("transformer.blocks.0.ffn.up_proj.weight"),
                           ours.at("block_0.up.weight")));
}

// The class adds positions in the type that it computes in.
TEST_F(HuggingFace, BloomIsToBeReadInSinglePrecision) {
  Gpt model = drawn_model(bloom_model(), Tokenizer::kByteVocabulary);
  const auto folder = write(model, {.target = Dialect::kBloom, .type = torch::kBFloat16});
  const Json config = parse_json(read_file(folder / "config.json"), "config.json");
  EXPECT_EQ(*config.find("dtype")->as_string(), "float32");
}

TEST_F(HuggingFace, BloomInterleavesItsHeads) {
  Gpt model = drawn_model(bloom_model(), Tokenizer::kByteVocabulary);
  const Tensors theirs =
      load_tensors(write(model, {.target = Dialect::kBloom}) / "model.safetensors");
  const torch::Tensor& qkv = theirs.at("transformer.h.1.self_attention.query_key_value.weight");
  const torch::Tensor ours = model->named_parameters()["block_1.qkv.weight"];
  const std::int64_t width = 32, head_width = 8;  // four heads
  for (const std::int64_t head : {0, 3}) {
    for (const std::int64_t part : {0, 1, 2}) {
      EXPECT_TRUE(torch::equal(qkv[(head * 3 + part) * head_width + 5],
                               ours[part * width + head * head_width + 5]));
    }
  }
}

TEST_F(HuggingFace, SplitsLargeModels) {
  Gpt model = drawn_model(mpt_model(), Tokenizer::kByteVocabulary);
  write(model, {.shard_bytes = 40'000});
  EXPECT_FALSE(fs::exists(path() / "model.safetensors"));
  std::vector<std::string> shards;
  for (const auto& entry : fs::directory_iterator(path())) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("model-0000")) shards.push_back(name);
  }
  std::ranges::sort(shards);
  ASSERT_GE(shards.size(), 3U);
  EXPECT_EQ(shards[1], cat("model-00002-of-0000", shards.size(), ".safetensors"));
  const ForeignModel read = read_huggingface(path());
  EXPECT_TRUE(torch::equal(read.weights.at("head"), model->named_parameters()["head"]));
  fs::remove(path() / shards[1]);
  EXPECT_ERROR_AT(fault(), shards[1]);
  replace("model.safetensors.index.json", "model-00001", "../secret-1");
  EXPECT_ERROR_AT(fault(), "model.safetensors.index.json", "../secret-1");
}

TEST_F(HuggingFace, RefusesFoldersThatLie) {
  Gpt model = drawn_model(mpt_model(), Tokenizer::kByteVocabulary);
  const auto fresh = [&] {
    remove_tree(path());
    write(model, {});
  };
  const auto refused = [&](const std::string& from, const std::string& to, const auto&... values) {
    fresh();
    replace("config.json", from, to);
    EXPECT_NAMES(fault(), values...);
  };
  refused("\"mpt\"", "\"llama\"", "/model_type:", "\"llama\"", "\"mpt\"", "\"bloom\"", "\"gpt2\"",
          "\"alibi\"");
  refused("\"vocab_size\": 259", "\"vocab_size\": 260", "[259, 32]", "[260, 32]");
  refused("\"n_heads\": 4", "\"n_heads\": 5", "config.json:", 5, 32);
  refused("\"n_layers\": 2", "\"n_layers\": 3", "transformer.blocks.2.norm_1.weight");
  refused("\"n_layers\": 2", "\"n_layers\": 1", "transformer.blocks.1");
  refused("\"n_layers\": 2", "\"n_layers\": 0", "/n_layers:", 0);
  refused("\"clip_qkv\": null", "\"clip_qkv\": 6", "/clip_qkv:");
  fresh();
  Tensors wrong = load_tensors(path() / "model.safetensors");
  wrong.at("lm_head.weight") = wrong.at("lm_head.weight").to(torch::kLong);
  save_tensors(path() / "model.safetensors", wrong);
  EXPECT_NAMES(fault(), "\"lm_head.weight\"", "floating-point");
  fs::remove(path() / "model.safetensors");
  EXPECT_ERROR_AT(fault(), path().string(), "model.safetensors");
  write_file_atomic(path() / "pytorch_model.bin", "\x80\x02.");
  EXPECT_ERROR_AT(fault(), "pytorch_model.bin", "pickle");
}

}  // namespace
}  // namespace alibi
