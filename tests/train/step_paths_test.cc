// Which code a step runs through, seen from what it records: the figures say how fast it is, this
// says that it is there.
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include "device/device.h"
#include "device/libtorch.h"
#include "train/example.h"

namespace alibi {
namespace {

std::map<std::string, int>* scopes = nullptr;  // null: not counting

std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& record) {
  if (scopes != nullptr) ++(*scopes)[record.name()];
  return nullptr;
}

// How often each scope was entered in the first step, two micro batches, and the short row before
// it: two layers.
std::map<std::string, int> scopes_of_a_step(const std::vector<std::string>& changes) {
  TrainExample example;
  std::vector<std::string> all{"model.width=64",
                               "model.layers=2",
                               "model.learned_slopes=false",
                               "model.embedding_dropout=0",
                               "model.attention_dropout=0",
                               "model.residual_dropout=0",
                               "model.mlp_dropout=0",
                               "run.train_tokens=128",
                               "schedule.warmup_tokens=0"};
  all.insert(all.end(), changes.begin(), changes.end());
  std::map<std::string, int> found;
  scopes = &found;
  const auto handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(count).scopes({at::RecordScope::USER_SCOPE}));
  example.on_event = [](const Event& event) {
    if (std::holds_alternative<StepRecord>(event)) scopes = nullptr;  // validation is no step
  };
  EXPECT_EQ(example.train(example.config("run", all), false), 0);
  at::removeCallback(handle);
  scopes = nullptr;
  return found;
}

constexpr const char* kLinear = "alibi::linear layers";
constexpr const char* kNorms = "alibi::norms";
// Two layers, three passes, four products: qkv, out, up, down.
constexpr int kProducts = 2 * 3 * 4, kPackings = 2 * 4;

TEST(StepPaths, Bf16RunsOnPackedWeightsAndOnePassNorms) {
  if (!cpu_has_fast_bf16()) GTEST_SKIP() << "no bf16 instructions here";
  auto plain = scopes_of_a_step({"runtime.precision=fp32"});
  auto packed = scopes_of_a_step({"runtime.precision=bf16"});
  // Forward, input's gradient, weight's gradient. In fp32 only the loss has such products.
  EXPECT_EQ(packed[kLinear] - plain[kLinear], 3 * kProducts + kPackings);
  EXPECT_EQ(packed[kNorms] - plain[kNorms], 2 * 3 * (2 * 2 + 1));  // two a layer, and the last
  EXPECT_EQ(packed["alibi::activation"], 0) << "GELU belongs into the products";
}

// Queries, keys and values, out, up and down of two layers, once a step. Seen failing with queries,
// keys and values as one.
TEST(StepPaths, MuonMakesEveryMatrixOfTheBlocksOrthogonal) {
  const char* part = "alibi::orthogonalisation";
  EXPECT_EQ(scopes_of_a_step({"optimizer.kind=muon"})[part], 2 * 6);
  EXPECT_EQ(scopes_of_a_step({})[part], 0);
}

TEST(StepPaths, RecomputedBlocksRunForwardTwice) {
  if (!cpu_has_fast_bf16()) GTEST_SKIP() << "no bf16 instructions here";
  const int once = scopes_of_a_step({"runtime.precision=bf16"})[kLinear];
  const int twice =
      scopes_of_a_step({"runtime.precision=bf16", "runtime.recompute=blocks"})[kLinear];
  EXPECT_EQ(twice - once, kProducts);
}

}  // namespace
}  // namespace alibi
