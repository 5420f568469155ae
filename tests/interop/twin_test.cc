// The trainer against scripts/twin.py, a PyTorch program that shares no line with it.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "base/strings.h"
#include "checkpoint/load_model.h"
#include "checkpoint/tensors.h"
#include "config/load.h"
#include "data/batches.h"
#include "data/prepare.h"
#include "device/libtorch.h"
#include "support/small_text.h"
#include "support/temporary_folder.h"
#include "train/log_sink.h"
#include "train/trainer.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;
using Settings = std::vector<std::string>;

constexpr std::int64_t kSteps = 10;

// A long text and many short documents, several to a training row.
void write_texts(const fs::path& folder) {
  std::string lines;
  for (std::uint64_t i = 0; i < 40; ++i)
    lines += "{\"text\": \"" + made_up_word(i * i) + " " + made_up_word(i + 7) + "\"}\n";
  write_file_atomic(folder / "train.jsonl", lines);
  write_file_atomic(folder / "train.txt", small_text(6000));
  write_file_atomic(folder / "valid.txt", small_text(2000, 1));
}

Settings common_settings(const fs::path& folder, const std::string& name) {
  return {"tokenizer.kind=bytes",
          "runtime.precision=fp32",
          "runtime.device=cpu",
          "runtime.loss_chunk_rows=50",
          cat("data.train=[\"", (folder / "train.txt").string(), "\",\"",
              (folder / "train.jsonl").string(), "\"]"),
          cat("data.valid=[\"", (folder / "valid.txt").string(), "\"]"),
          cat("data.cache_folder=", (folder / "cache").string()),
          cat("run.folder=", (folder / name).string()),
          "run.seed=5",
          cat("run.train_tokens=", kSteps * 4 * 32),
          "run.validation_tokens=64",
          cat("run.evaluate_every_tokens=", kSteps * 4 * 32),
          cat("run.save_every_tokens=", kSteps * 4 * 32),
          "batch.sequence_length=32",
          "batch.sequences=4",
          "model.layers=2",
          "model.width=48",
          "model.heads=6",
          "initialize.standard_deviation=0.1",
          "optimizer.learning_rate=0.005",
          "optimizer.clip_norm=0.7",
          "schedule.warmup_tokens=384"};
}

torch::Tensor ids(const std::vector<std::int64_t>& values, std::int64_t rows) {
  return torch::tensor(values).view({rows, -1});
}

// twin.safetensors: initial weights, every batch, and what trained weights say at L and 4 L.
void write_numbers(const Config& config, const PreparedText& text, Tensors numbers) {
  const BatchReader reader(text.train, config.batch, static_cast<std::uint64_t>(config.run.seed),
                           config.data.separate_documents);
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const Batch batch = reader.read(step);
    numbers[cat("inputs.", step)] = ids(batch.inputs, batch.rows);
    numbers[cat("targets.", step)] = ids(batch.targets, batch.rows);
  }
  LoadedModel trained = load_model(config.run.folder, {});
  const torch::NoGradGuard guard;
  const std::int64_t length = batch_shape(config.batch).length;
  for (const std::int64_t times : {1, 4}) {
    if (times > 1 && config.model.position == Position::kLearned) continue;
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(times * length));
    text.valid.read(0, tokens);
    numbers[cat("tokens.", times)] = ids(tokens, 1);
    numbers[cat("logits.", times)] =
        trained.model->logits(trained.model->hidden(ids(tokens, 1))).contiguous();
  }
  save_tensors(fs::path(config.run.folder) / "twin.safetensors", numbers);
}

void train_with_numbers(const Config& config) {
  RunFolder folder(config, false);
  const PreparedText text = prepare_text(config.data, config.tokenizer, 1);
  write_file_atomic(folder.path() / "config.json", config_json(config));
  World alone;
  Trainer trainer({config, text, folder, torch::kCPU, alone}, std::nullopt);
  LogSink log(config, folder, std::nullopt);
  Tensors numbers;
  for (const auto& [name, weight] : weights_of(*trainer.model()))
    numbers["initial." + name] = weight.clone();
  ASSERT_EQ(trainer.run({&log}), 0);
  ASSERT_EQ(trainer.progress().step, kSteps);
  write_numbers(config, text, std::move(numbers));
}

struct TwinCase {
  const char* name;
  Settings settings;
};

const TwinCase kCases[] = {
    {"alibi", {}},
    {"sinusoidal", {"model.position=sinusoidal"}},
    {"learned", {"model.position=learned"}},
    {"rotary", {"model.position=rotary"}},
    {"t5", {"model.position=t5", "model.t5_buckets=16", "model.t5_max_distance=64"}},
    {"none", {"model.position=none"}},
    {"kerple_log", {"model.position=kerple"}},
    {"kerple_power", {"model.position=kerple", "model.kerple_kernel=power"}},
    {"bam", {"model.position=bam", "data.separate_documents=true"}},
    {"sandwich", {"model.position=sandwich", "model.sandwich_width=24"}},
    {"forgetting", {"model.position=forgetting", "model.key_value_heads=3"}},
    {"forgetting_documents", {"model.position=forgetting", "data.separate_documents=true"}},
    {"position_infused", {"model.position=position_infused", "model.key_value_heads=2"}},
    {"fire", {"model.position=fire", "model.fire_threshold=9.5", "batch.micro_batch_tokens=64"}},
    {"rotary_share", {"model.position=rotary", "model.rotary_share=0.5"}},
    {"rotary_linear",
     {"model.position=rotary", "model.rotary_scaling=linear", "model.rotary_original_length=8"}},
    {"rotary_ntk",
     {"model.position=rotary", "model.rotary_scaling=ntk", "model.rotary_original_length=10",
      "model.rotary_scaling_factor=3.5"}},
    {"rotary_yarn",
     {"model.position=rotary", "model.rotary_scaling=yarn", "model.rotary_original_length=200",
      "model.rotary_scaling_factor=8", "model.rotary_share=0.75"}},
    {"scalable_softmax", {"model.scalable_softmax=true", "data.separate_documents=true"}},
    {"patterns",
     {"model.attention_pattern=[\"window(5) + global(2)\", \"layers 1: fixed(6, 2)\", \"heads 1: "
      "dilated(3, 4)\", \"layers 1 heads 0: strided(7)\"]"}},
    {"alibi_rich",
     {"model.learned_slopes=true", "model.key_value_heads=2", "model.attention_bias=true",
      "model.mlp_bias=true", "model.norm_bias=true", "model.embedding_norm=true",
      "model.tied_head=false", "model.mlp_width=80", "model.activation=gelu_tanh",
      "batch.train_sequence_length_scaling=0.5", "batch.micro_batch_tokens=32", "schedule.kind=wsd",
      "optimizer.weight_decay=0.3"}},
    {"muon",
     {"optimizer.kind=muon", "optimizer.matrix_learning_rate=0.02", "model.key_value_heads=3",
      "model.mlp_bias=true", "model.tied_head=false"}},
    {"muon_decay",
     {"optimizer.kind=muon", "optimizer.momentum=0.8", "optimizer.matrix_weight_decay=0.5",
      "model.mlp_width=40", "optimizer.beta2=0.99"}},
    {"normuon",
     {"optimizer.kind=normuon", "optimizer.matrix_learning_rate=0.01", "model.key_value_heads=3",
      "optimizer.beta2=0.9"}},
    {"mud",
     {"optimizer.kind=mud", "optimizer.matrix_weight_decay=0.3", "model.mlp_width=40",
      "optimizer.momentum=0.9"}},
    {"alibi_documents",
     {"data.separate_documents=true", "model.slope_rule=geometric", "model.slope_bias_max=6",
      "model.attention_scale=0.3", "schedule.kind=linear"}},
    {"t5_each_layer",
     {"model.position=t5", "model.t5_shared=false", "model.t5_buckets=8",
      "model.t5_max_distance=64", "model.key_value_heads=3", "data.separate_documents=true",
      "schedule.kind=constant"}},
    {"rotary_far",
     {"model.position=rotary", "model.rotary_base=500", "model.key_value_heads=1",
      "model.norm_epsilon=0.001", "optimizer.beta1=0.8", "optimizer.beta2=0.99",
      "optimizer.epsilon=0.001"}},
};

TEST(TwinInterop, AgreesOnLogitsAndTenLossesOfEveryPosition) {
  const char* python = std::getenv("ALIBI_VERIFY_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "ALIBI_VERIFY_PYTHON is not set (scripts/test --all)";
  const TemporaryFolder folder;
  write_texts(folder.path());
  std::string command = cat("'", python, "' '", ALIBI_SOURCE_DIR, "/scripts/twin.py'");
  for (const TwinCase& one : kCases) {
    Settings settings = common_settings(folder.path(), one.name);
    settings.insert(settings.end(), one.settings.begin(), one.settings.end());
    train_with_numbers(parse_config("{}", one.name, settings));
    ASSERT_FALSE(HasFailure()) << one.name;
    command += cat(" '", (folder.path() / one.name).string(), "'");
  }
  EXPECT_EQ(std::system(command.c_str()), 0) << "twin.py's lines are above";
}

}  // namespace
}  // namespace alibi
