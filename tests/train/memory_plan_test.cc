// The estimate of a run's memory: its parts, the micro batch that fits, and (slowly) real runs.
#include "train/memory_plan.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "commands/cli_fixture.h"
#include "config/load.h"
#include "device/device.h"
#include "train/optimizer/optimizer.h"
#include "train/shards.h"

namespace alibi {
namespace {

Config config(const std::vector<std::string>& overrides) { return load_config({}, overrides); }

TEST(MemoryPlan, CountsWeightsFromTheirShapes) {
  const Config c = config({"model.layers=2", "model.width=64", "model.heads=4",
                           "tokenizer.kind=bytes", "runtime.precision=bf16"});
  const std::int64_t parameters = 259 * 64 + 2 * (12 * 64 * 64 + 2 * 64) + 64;
  const MemoryParts parts = estimate_memory(c, 259, 4096);
  EXPECT_EQ(parts.weights, 4 * parameters);
  EXPECT_EQ(parts.gradients, 4 * parameters);
  EXPECT_EQ(parts.optimizer, 8 * parameters);
  EXPECT_EQ(parts.saving, 12 * parameters);
  EXPECT_GT(parts.loss, 4 * c.runtime.loss_chunk_rows * 259);
  EXPECT_EQ(estimate_memory(config({"run.save_in_background=false"}), 259, 4096).saving, 0);
}

// Seen failing with the rank that owns the least.
TEST(MemoryPlan, CountsTheSmallerStateOfMuonAndWhatTheFullestRankOwns) {
  const std::vector<std::string> small = {"model.layers=2", "model.width=64", "model.heads=4",
                                          "tokenizer.kind=bytes", "run.save_in_background=false"};
  const auto optimizer_bytes = [&](const char* kind, int ranks) {
    std::vector<std::string> all = small;
    all.push_back(std::string("optimizer.kind=") + kind);
    all.push_back("batch.lanes=4");
    return estimate_memory(config(all), 259, 4096, ranks).optimizer;
  };
  const std::int64_t matrices = 2 * 12 * 64 * 64, rows = 2 * (3 + 1 + 4 + 1) * 64;
  EXPECT_EQ(optimizer_bytes("muon", 1), optimizer_bytes("adamw", 1) - 4 * matrices);
  EXPECT_EQ(optimizer_bytes("normuon", 1), optimizer_bytes("muon", 1) + 4 * rows);
  EXPECT_NEAR(static_cast<double>(optimizer_bytes("adamw", 2)),
              static_cast<double>(optimizer_bytes("adamw", 1) / 2), 8 * kShardBlock);
  const std::int64_t half = optimizer_bytes("muon", 1) / 2, largest = 4 * 4 * 64 * 64;
  EXPECT_GE(optimizer_bytes("muon", 2), half);
  EXPECT_LE(optimizer_bytes("muon", 2), half + largest);
}

// Whose memory is given up first. Seen failing with micro batches that leave room for it.
TEST(MemoryPlan, CountsAGraphButMakesNoMicroBatchSmallerForIt) {
  const auto with = [&](const std::string& graph, const std::string& device) {
    return config({"tokenizer.kind=bytes", "runtime.precision=bf16", "runtime.device=" + device,
                   "runtime.cuda_graph=" + graph});
  };
  const MemoryParts plain = estimate_memory(with("false", "cuda"), 259, 4096),
                    graph = estimate_memory(with("true", "cuda"), 259, 4096);
  EXPECT_EQ(plain.graph, 0);
  EXPECT_EQ(graph.graph,
            plain.activations + plain.loss + plain.packed + plain.weights + plain.gradients);
  EXPECT_EQ(estimate_memory(with("true", "cpu"), 259, 4096).graph, 0);
  const std::int64_t wanted = micro_batch_tokens_of(with("true", "cuda").batch);
  const std::int64_t limit = estimate_memory(with("false", "cuda"), 259, wanted).bound();
  EXPECT_EQ(fitting_micro_batch(with("true", "cuda"), 259, limit), wanted);
}

// Seen failing without it.
TEST(MemoryPlan, CountsWhatAnUpdateByMuonTakesWhereActivationsAreFew) {
  const auto activations = [&](const std::string& kind, std::int64_t tokens, int layers = 2,
                               const std::string& device = "cpu", int mlp_width = 4096) {
    const Config c =
        config({cat("model.layers=", layers), "model.width=1024", "tokenizer.kind=bytes",
                "runtime.precision=bf16", "optimizer.kind=" + kind, "runtime.device=" + device,
                cat("model.mlp_width=", mlp_width)});
    return estimate_memory(c, 259, tokens).activations;
  };
  const std::int64_t matrix = std::int64_t{4} * 4096 * 1024;
  const std::int64_t threads = std::min(set_threads(0), 8);  // of so many matrices
  EXPECT_LT(activations("adamw", 64), 4 * threads * matrix);
  EXPECT_EQ(activations("muon", 64), 4 * threads * matrix);
  EXPECT_EQ(activations("muon", 1 << 20), activations("adamw", 1 << 20));
  EXPECT_EQ(activations("muon", 64, 2, "cuda"), 6 * 2 * matrix) << "those of a shape at once";
  EXPECT_EQ(activations("muon", 64, 2, "cuda", 1024), 6 * 3 * matrix) << "queries, keys and all";
  EXPECT_EQ(activations("muon", 64, 100, "cuda"), 6 * 4 * kMatricesTogether);
}

// A matrix that fills a bucket comes to one rank from all: four times 4096 x 1024. Seen failing
// with a bucket counted once.
TEST(MemoryPlan, CountsWhatARankReceivesOfAMatrixThatItOwnsWhole) {
  const auto exchange = [&](const std::string& kind) {
    const Config c = config({"model.layers=2", "model.width=1024", "tokenizer.kind=bytes",
                             "batch.lanes=4", "optimizer.kind=" + kind});
    return estimate_memory(c, 259, 4096, 4).exchange;
  };
  const std::int64_t matrix = std::int64_t{4096} * 1024, bucket = bucket_elements(4) + matrix;
  EXPECT_EQ(exchange("adamw"), 4 * 2 * bucket);
  EXPECT_GE(exchange("muon"), 4 * (bucket + 4 * matrix));
  EXPECT_LE(exchange("muon"), 4 * (bucket + 4 * bucket));
}

TEST(MemoryPlan, ActivationsGrowWithTheMicroBatchAndShrinkWithRecomputation) {
  const Config plain = config({}), again = config({"runtime.recompute=blocks"});
  const auto activations = [](const Config& c, std::int64_t tokens) {
    return estimate_memory(c, 4096, tokens).activations;
  };
  EXPECT_GT(activations(plain, 8192), 1.5 * static_cast<double>(activations(plain, 4096)));
  EXPECT_LT(activations(again, 8192), 0.5 * static_cast<double>(activations(plain, 8192)));
  const Config chunks = config({"runtime.mlp_chunk_rows=512"});
  EXPECT_LT(activations(chunks, 8192), 0.85 * static_cast<double>(activations(plain, 8192)));
  const auto reversible = [](const char* layers) {
    return config({"model.reversible=true", cat("model.layers=", layers)});
  };
  EXPECT_EQ(activations(reversible("24"), 8192), activations(reversible("2"), 8192));
  // Recomputation cannot pay where there is one block.
  const Config shallow = config({"model.layers=1"});
  const Config shallow_again = config({"model.layers=1", "runtime.recompute=blocks"});
  EXPECT_GE(activations(shallow_again, 8192),
            0.8 * static_cast<double>(activations(shallow, 8192)));
}

// Rotations of 64 rounds to 32,768 numbers each, and what rounds leave out, grow with the rounds.
// Seen failing with neither counted.
TEST(MemoryPlan, CountsWhatHashedKeysTake) {
  const auto activations = [](const char* pattern) {
    const Config c = config({cat("model.attention_pattern=[\"", pattern, "\"]")});
    return estimate_memory(c, 4096, 8192).activations;
  };
  const Config c = config({});
  const std::int64_t rotations = std::int64_t{8} * 64 * c.model.width * 32'768;
  EXPECT_GT(activations("layers 0: lsh(65536, 64, 64)"), rotations);
  EXPECT_GT(activations("lsh(64, 64, 4)"), activations("window(64)"));
  EXPECT_EQ(activations("layers 0: lsh(64, 64, 4)") - activations("window(64)"),
            activations("layers 1: lsh(64, 64, 4)") - activations("window(64)"));
}

// Seen failing: rows that no micro batch has were counted, and a run was refused that took 155 MiB.
TEST(MemoryPlan, ALossChunkIsNoLargerThanAMicroBatch) {
  const auto loss = [](std::int64_t micro_batch) {
    return estimate_memory(config({"runtime.loss_chunk_rows=16000000"}), 4096, micro_batch).loss;
  };
  EXPECT_EQ(loss(512), std::int64_t{512} * 4096 * 12);
  EXPECT_EQ(loss(1024), 2 * loss(512));
}

TEST(MemoryPlan, TheMicroBatchThatFitsDividesTheStep) {
  const Config c = config({"batch.sequence_length=128", "batch.sequences=12"});
  const auto total = [&](std::int64_t rows) {
    return estimate_memory(c, 4096, rows * 128).bound();
  };
  EXPECT_EQ(fitting_micro_batch(c, 4096, total(12)), 12 * 128);
  EXPECT_EQ(fitting_micro_batch(c, 4096, total(12) - 1), 6 * 128);
  EXPECT_EQ(fitting_micro_batch(c, 4096, total(5)), 4 * 128);
  EXPECT_EQ(fitting_micro_batch(c, 4096, total(1)), 128);
  EXPECT_EQ(fitting_micro_batch(c, 4096, total(1) - 1), 0);
}

// Four rows are asked for, of which a lane of six takes three: that is planned, shown
// and computed, and no want of memory. Seen failing with four.
TEST(MemoryPlan, RowsThatDoNotDivideALaneAreNoWantOfMemory) {
  const Config c =
      config({"batch.sequence_length=128", "batch.sequences=12", "batch.lanes=2",
              "batch.micro_batch_tokens=512", "runtime.memory_limit_bytes=1000000000000"});
  const World world;
  EXPECT_EQ(micro_batch_tokens_of(c.batch), 3 * 128);
  EXPECT_EQ(plan_micro_batch(c, 4096, torch::kCPU, world), 3 * 128);
}

// The estimate against what a run really takes, LibTorch included. Off by a third it would refuse
// what fits, or let through what does not. Seen failing with the activations left out.
TEST(MemoryPlanSlow, IsNearWhatARunTakes) {
  const CliFixture place;
  struct Shape {
    const char *layers, *width, *length, *sequences, *recompute, *reversible = "false",
                                                                 *dropout = "0";
  };
  for (const Shape& shape : {Shape{"2", "256", "128", "64", "none"},
                             {"6", "256", "256", "32", "none"},
                             {"6", "256", "256", "32", "blocks"},
                             {"12", "128", "128", "256", "blocks"},
                             {"12", "128", "128", "256", "none", "true"},
                             {"2", "768", "256", "8", "none"},
                             // Seen failing: 1.6 times the estimate.
                             {"8", "192", "128", "64", "none", "false", "0.1"}}) {
    std::filesystem::remove_all(place.path("runs"));
    const auto set = [](const char* key, const char* value) {
      return std::string(key) + "=" + value;
    };
    const ProgramResult run = place.works({"train", "tiny.json",
                                           "--set", set("model.layers", shape.layers),
                                           "--set", set("model.width", shape.width),
                                           "--set", "model.heads=4",
                                           "--set", set("batch.sequence_length", shape.length),
                                           "--set", "batch.train_sequence_length_scaling=1",
                                           "--set", set("batch.sequences", shape.sequences),
                                           "--set", set("runtime.recompute", shape.recompute),
                                           "--set", set("model.reversible", shape.reversible),
                                           "--set", set("model.residual_dropout", shape.dropout),
                                           "--set", set("model.mlp_dropout", shape.dropout),
                                           "--set", "run.train_tokens=20000",
                                           "--set", "run.evaluate_every_tokens=20000",
                                           "--set", "run.save_every_tokens=5000"});
    std::int64_t peak = 0;
    std::istringstream log(place.read("runs/tiny/log.jsonl"));
    for (std::string line; std::getline(log, line);)
      peak = nlohmann::json::parse(line).value("peak_memory_bytes", peak);
    const Config c = parse_config(place.read("runs/tiny/config.json"), "config.json");
    const std::int64_t estimate = estimate_memory(c, 259, *c.batch.micro_batch_tokens).total();
    const double ratio = static_cast<double>(estimate) / static_cast<double>(peak);
    EXPECT_GT(ratio, 0.75) << shape.layers << " x " << shape.width << " " << shape.recompute;
    EXPECT_LT(ratio, 1.33) << shape.layers << " x " << shape.width << " " << shape.recompute;
  }
}

}  // namespace
}  // namespace alibi
