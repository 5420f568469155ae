// Training by graphs, which the processor plays (tests/support/recorded_graph.h), against training
// without: the same bits. Tests of a device have not run on one yet.
#include "train/micro_batch_graphs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "device/cuda_library.h"
#include "device/device.h"
#include "model/linear/linear_layers.h"
#include "support/recorded_graph.h"
#include "train/same_end.h"

namespace alibi {
namespace {

// What a device's step is made of, by LibTorch's operators alone.
void use_operators(TrainExample& example) {
  for (const char* place : {"embedding", "attention", "residual", "mlp"})
    example.leave_out(cat("model.", place, "_dropout=0.1"));
  example.add("runtime.linear_layers=libtorch");
  example.add("runtime.attention.kernel=reference");
}

const DeviceGraphs kRecorded{&RecordedGraph::module(), {}};

TEST(MicroBatchGraphs, GiveTheBitsOfKernelsOneByOne) {
  const std::vector<std::vector<std::string>> cases = {
      {},
      {"model.position=alibi"},
      {"model.position=rotary"},
      {"model.position=t5"},
      {"model.position=kerple"},
      {"model.position=sandwich"},
      {"model.position=fire"},
      {"model.position=sinusoidal"},
      {"model.position=learned"},
      {"model.position=forgetting"},
      {"model.position=none"},
      {"runtime.recompute=blocks"},
      {"runtime.loss_chunk_rows=7"},
      {"guard.z_loss=0.01"},
      {"optimizer.kind=normuon"},
      {"data.separate_documents=true"},
      {"data.separate_documents=true", "batch.micro_batch_tokens=8"},
      {"model.attention_pattern=[\"window(4) + global(2)\"]"},
      {"model.attention_pattern=[\"lsh(4, 8, 2)\"]", "model.position=alibi"},
      {"batch.micro_batch_tokens=32"},
  };
  for (const std::vector<std::string>& changes : cases) {
    SCOPED_TRACE(changes.empty() ? "as it is" : changes.back());
    TrainExample example;
    use_operators(example);
    if (!changes.empty() && changes.back().starts_with("model.position="))
      example.leave_out("model.learned_slopes=true");
    EXPECT_EQ(example.train(example.config("plain", changes), false), 0);
    example.graphs = kRecorded;
    RecordedGraph::forget_counts();
    EXPECT_EQ(example.train(example.config("graphs", changes), false), 0);
    expect_same_end(example, "plain", "graphs", "twelve steps");
    EXPECT_EQ(RecordedGraph::captures(), 2) << "of a step's first micro batch and of later ones";
    const std::string last = changes.empty() ? "" : changes.back();
    const int parts = last == "batch.micro_batch_tokens=32"  ? 4
                      : last == "batch.micro_batch_tokens=8" ? 16
                                                             : 2;
    EXPECT_EQ(RecordedGraph::replays(), parts * 12);
  }
}

TEST(MicroBatchGraphs, AResumedRunHasTheSameBits) {
  TrainExample example;
  use_operators(example);
  EXPECT_EQ(example.train(example.config("plain"), false), 0);
  example.graphs = kRecorded;
  RecordedGraph::forget_counts();
  EXPECT_EQ(example.train(example.config("graphs"), false, 5), 2);
  EXPECT_EQ(example.train(example.config("graphs"), true), 0);
  EXPECT_EQ(RecordedGraph::replays(), 2 * 12);
  expect_same_end(example, "plain", "graphs", "twelve steps");
}

// A text of another length takes the place of the table that a graph reads.
TEST(MicroBatchGraphs, WhatAGraphReadsIsKept) {
  for (const std::string position : {"rotary", "sandwich"}) {
    SCOPED_TRACE(position);
    TrainExample example;
    use_operators(example);
    example.leave_out("model.learned_slopes=true");
    const std::vector<std::string> changes{"model.position=" + position};
    EXPECT_EQ(example.train(example.config("plain", changes), false), 0);
    example.graphs = kRecorded;
    Trainer* trainer = nullptr;
    example.on_event = [&](const Event& event) {
      const auto* step = std::get_if<StepRecord>(&event);
      if (step == nullptr || step->step % 3 != 0) return;
      const torch::NoGradGuard guard;
      const torch::Tensor tokens_BT = torch::zeros({1, 20 * step->step}, torch::kLong);
      trainer->model()->hidden(tokens_BT);
    };
    RecordedGraph::forget_counts();
    EXPECT_EQ(example.train(example.config("graphs", changes), false, 0,
                            [&](Trainer& one) { trainer = &one; }),
              0);
    EXPECT_EQ(RecordedGraph::replays(), 2 * 12);
    expect_same_end(example, "plain", "graphs", "twelve steps");
  }
}

// Of such steps the number of targets differs, which a graph would not see.
TEST(MicroBatchGraphs, StepsThatLeaveTargetsOutHaveNone) {
  TrainExample example;
  use_operators(example);
  std::string lines;
  for (int i = 0; i < 200; ++i)
    lines += cat("{\"prompt\": \"", std::string(static_cast<std::size_t>(i * 7 % 60), 'q'),
                 "\", \"completion\": \"", std::string(20, 'a'), "\"}\n");
  example.write("asked.jsonl", lines);
  example.leave_out("data.train=[\"" + example.path("text.txt") + "\"]");
  example.add("data.train=[\"" + example.path("asked.jsonl") + "\"]");
  EXPECT_EQ(example.train(example.config("plain"), false), 0);
  example.graphs = kRecorded;
  RecordedGraph::forget_counts();
  EXPECT_EQ(example.train(example.config("graphs"), false), 0);
  expect_same_end(example, "plain", "graphs", "twelve steps");
  EXPECT_EQ(RecordedGraph::replays(), 0);
}

// A module whose graphs are as `Wrong` makes them.
template <class Wrong>
const DeviceGraphs& wrong_graphs() {
  static const DeviceGraphModule module{
      .capture = [](torch::Device device, const DeviceGraph* before,
                    const std::function<void()>& work) -> std::unique_ptr<DeviceGraph> {
        return std::make_unique<Wrong>(RecordedGraph::module().capture(device, before, work));
      }};
  static const DeviceGraphs graphs{&module, {}};
  return graphs;
}

struct DoesNothing final : DeviceGraph {
  explicit DoesNothing(std::unique_ptr<DeviceGraph>) {}
  void replay() override {}
};

struct Twice final : DeviceGraph {
  explicit Twice(std::unique_ptr<DeviceGraph> one) : graph(std::move(one)) {}
  void replay() override {
    graph->replay();
    graph->replay();
  }
  std::unique_ptr<DeviceGraph> graph;
};

TEST(MicroBatchGraphs, OneThatDiffersIsSetAside) {
  for (const DeviceGraphs* graphs : {&wrong_graphs<DoesNothing>(), &wrong_graphs<Twice>()}) {
    TrainExample example;
    use_operators(example);
    EXPECT_EQ(example.train(example.config("plain"), false), 0);
    example.graphs = *graphs;
    RecordedGraph::forget_counts();
    EXPECT_EQ(example.train(example.config("graphs"), false), 0);
    expect_same_end(example, "plain", "graphs", "twelve steps");
    EXPECT_LE(RecordedGraph::captures(), 2) << "it is not tried again";
  }
}

// A sum of three weights times the rows of a batch, in place of a model.
struct Sum {
  torch::Tensor weight = torch::ones({3}, torch::TensorOptions(torch::kDouble).requires_grad(true));
  MicroBatchGraphs graphs{kRecorded, {weight}};
  double factor = 1;        // of the host
  double more_by_call = 0;  // of the factor
  int throws_in_call = 0;
  std::vector<std::uint64_t> versions = {};  // of the weight, by call of the work

  double of(std::int64_t rows, double number, bool repeatable = true) {
    weight.mutable_grad() = torch::Tensor();
    const torch::Tensor numbers = torch::full({rows, 3}, number, torch::kDouble);
    const torch::Tensor loss =
        graphs.run({numbers, numbers, {}}, repeatable, [&](const PlacedBatch& batch) {
          const torch::Tensor total = (batch.inputs_BT * weight).sum() * factor;
          factor += more_by_call;
          versions.push_back(weight._version());
          if (std::ssize(versions) == throws_in_call)
            throw std::runtime_error("operation not permitted when stream is capturing\nstack");
          total.backward();
          return total.detach();
        });
    EXPECT_TRUE(at::equal(weight.grad().sum().nan_to_num(-1), loss.nan_to_num(-1)));
    return loss.item<double>();
  }
};

TEST(MicroBatchGraphs, AnotherShapeTakesTheirPlace) {
  Sum sum;
  RecordedGraph::forget_counts();
  for (const std::int64_t rows : {4, 4, 4, 2, 2, 4})
    for (const double number : {0.5, 0.25})
      EXPECT_EQ(sum.of(rows, number), 3 * static_cast<double>(rows) * number);
  EXPECT_EQ(RecordedGraph::captures(), 3);
  EXPECT_EQ(RecordedGraph::replays(), 2 * 6);
}

// Seen failing with numbers compared in place of bits.
TEST(MicroBatchGraphs, ALossThatIsNotFiniteIsLeftToTheGuard) {
  Sum sum;
  RecordedGraph::forget_counts();
  EXPECT_TRUE(std::isnan(sum.of(1, std::nan(""))));
  EXPECT_EQ(sum.of(1, 0.5), 1.5);
  EXPECT_TRUE(std::isnan(sum.of(1, std::nan(""))));
  EXPECT_EQ(RecordedGraph::captures(), 1);
  EXPECT_TRUE(sum.graphs.in_use());
}

// What was made of weights within it holds nothing. Seen failing with weights that stay as they
// were.
TEST(MicroBatchGraphs, ACaptureThatFailsIsNotTriedAgain) {
  Sum sum;
  sum.throws_in_call = 2;
  RecordedGraph::forget_counts();
  EXPECT_EQ(sum.of(1, 1), 3);
  EXPECT_FALSE(sum.graphs.in_use());
  EXPECT_EQ(sum.of(1, 0.5), 1.5);
  EXPECT_EQ(RecordedGraph::captures(), 1);
  ASSERT_EQ(sum.versions.size(), 3);
  EXPECT_LT(sum.versions[1], sum.versions[2]);
}

// Seen failing with the shape of a batch that is not repeatable taken.
TEST(MicroBatchGraphs, ABatchWithoutAGraphLeavesThoseThatAreThere) {
  Sum sum;
  RecordedGraph::forget_counts();
  EXPECT_EQ(sum.of(4, 1), 12);
  EXPECT_EQ(sum.of(2, 1, /*repeatable=*/false), 6);
  EXPECT_EQ(sum.of(4, 0.5), 6);
  EXPECT_EQ(RecordedGraph::captures(), 1);
}

// Which is what dropout's masks, the scale of a loss and a schedule must not be.
TEST(MicroBatchGraphs, ANumberOfTheHostIsTheSameAtEveryReplay) {
  Sum sum;
  EXPECT_EQ(sum.of(1, 1), 3);
  sum.factor = 2;
  EXPECT_EQ(sum.of(1, 1), 3);
}

// What is made from a weight and kept until that changes, as its copy in bf16, is made in each
// replay.
TEST(MicroBatchGraphs, WhatIsMadeOfWeightsIsMadeInTheGraph) {
  Sum sum;
  sum.of(1, 1);
  ASSERT_EQ(sum.versions.size(), 2);
  EXPECT_LT(sum.versions[0], sum.versions[1]);
}

TEST(MicroBatchGraphs, ANumberThatChangesByTheCallIsSeen) {
  Sum sum;
  sum.more_by_call = 1;
  RecordedGraph::forget_counts();
  EXPECT_EQ(sum.of(1, 1), 3);
  sum.factor = 5;
  EXPECT_EQ(sum.of(1, 1), 15);
  EXPECT_EQ(RecordedGraph::captures(), 1);
}

int replays_on_device = 0;

struct Counted final : DeviceGraph {
  explicit Counted(std::unique_ptr<DeviceGraph> one) : graph(std::move(one)) {}
  void replay() override {
    ++replays_on_device;
    graph->replay();
  }
  std::unique_ptr<DeviceGraph> graph;
};

const DeviceGraph* inner(const DeviceGraph* counted) {
  return counted == nullptr ? nullptr : static_cast<const Counted*>(counted)->graph.get();
}

TEST(MicroBatchGraphsCuda, GiveTheBitsOfKernelsOneByOne) {
  if (!open_cuda_library().usable) GTEST_SKIP() << open_cuda_library().reason;
  const torch::Device device = open_device(Device::kCuda);
  ASSERT_NE(device_graphs().module, nullptr) << device_graphs().reason;
  static const DeviceGraphModule counting{
      .capture = [](torch::Device on, const DeviceGraph* before,
                    const std::function<void()>& work) -> std::unique_ptr<DeviceGraph> {
        return std::make_unique<Counted>(device_graphs().module->capture(on, inner(before), work));
      }};
  for (const std::string position :
       {"alibi", "rotary", "sandwich", "t5", "kerple", "forgetting", "none"}) {
    SCOPED_TRACE(position);
    TrainExample example;
    use_operators(example);
    for (const char* setting : {"model.learned_slopes=true", "runtime.attention.kernel=reference",
                                "runtime.precision=fp32", "runtime.device=cpu"})
      example.leave_out(setting);
    for (const char* setting :
         {"runtime.precision=bf16", "runtime.device=cuda", "runtime.cuda_graph=true"})
      example.add(setting);
    example.add("model.position=" + position);
    example.device = device;
    EXPECT_EQ(graphs_for(example.config("plain"), device).module, device_graphs().module);
    example.graphs = DeviceGraphs();
    EXPECT_EQ(example.train(example.config("plain"), false), 0);
    example.graphs = DeviceGraphs{&counting, {}};
    replays_on_device = 0;
    EXPECT_EQ(example.train(example.config("graphs"), false), 0);
    expect_same_end(example, "plain", "graphs", "twelve steps");
    EXPECT_EQ(replays_on_device, 2 * 12);
  }
}

// The device is as it was, for all steps behind it.
TEST(MicroBatchGraphsCuda, ACaptureThatFailsLeavesTheRunAsItIs) {
  if (!open_cuda_library().usable) GTEST_SKIP() << open_cuda_library().reason;
  const torch::Device device = open_device(Device::kCuda);
  ASSERT_NE(device_graphs().module, nullptr) << device_graphs().reason;
  static const DeviceGraphModule failing{.capture = [](torch::Device on, const DeviceGraph* before,
                                                       const std::function<void()>& work) {
    return device_graphs().module->capture(on, before, [&] {
      work();
      throw std::runtime_error("at the end of the capture");
    });
  }};
  TrainExample example;
  use_operators(example);
  example.leave_out("runtime.device=cpu");
  example.add("runtime.device=cuda");
  example.device = device;
  EXPECT_EQ(example.train(example.config("plain"), false), 0);
  example.graphs = DeviceGraphs{&failing, {}};
  EXPECT_EQ(example.train(example.config("graphs"), false), 0);
  expect_same_end(example, "plain", "graphs", "twelve steps");
}

TEST(MicroBatchGraphs, AreNotForEveryRun) {
  TrainExample example;
  use_operators(example);
  example.leave_out("runtime.attention.kernel=reference");
  example.add("runtime.cuda_graph=true");
  const auto why = [&](const std::string& change) {
    return why_no_graphs(example.config("run", {change}));
  };
  EXPECT_EQ(why("run.seed=3"), "");
  EXPECT_NE(graphs_for(example.config("run"), torch::kCPU).reason, "");
  for (const auto& [change, named] : std::vector<std::pair<std::string, std::string>>{
           {"model.mlp_dropout=0.1", "dropout"},
           {"batch.lanes=2", "batch.lanes"},
           {"batch.length_mixture=[0.25,0.125]", "batch.length_mixture"},
           {"runtime.attention.kernel=fastest", "runtime.attention.kernel"},
           {"runtime.attention.kernel=check", "runtime.attention.kernel"}})
    EXPECT_NE(why(change).find(named), std::string::npos) << change;
}

// A layer whose weight is kept in bf16 until it changes, as on a device, in two micro batches.
struct Cast {
  torch::Tensor weight_OI = torch::arange(16, torch::kFloat).view({4, 4}).requires_grad_();
  SharedProducts products;
  MicroBatchGraphs graphs;

  explicit Cast(const DeviceGraphs& given) : graphs(given, {weight_OI}) {}

  void cast() {
    products = c10::make_intrusive<LinearProducts>(weight_OI, torch::kBFloat16,
                                                   LinearProducts::Kind::kLibtorch);
  }
  torch::Tensor loss_of(const PlacedBatch& batch) {
    if (!products || !products->matches(weight_OI, torch::kBFloat16)) cast();
    const torch::Tensor y = linear_layer({}, batch.inputs_BT, {weight_OI, {}, products});
    const torch::Tensor loss = y.to(torch::kDouble).square().sum();
    loss.backward();
    return loss.detach();
  }
  // What three steps give; between them the cast is made anew elsewhere, as by a validation.
  std::vector<torch::Tensor> steps() {
    std::vector<torch::Tensor> all;
    for (int step = 0; step < 3; ++step) {
      weight_OI.mutable_grad() = torch::Tensor();
      for (int part = 0; part < 2; ++part) {
        const torch::Tensor x = torch::full({2, 4}, 0.25 * (step + 2 * part + 1), torch::kBFloat16);
        all.push_back(
            graphs.run({x, x, {}}, true, [&](const PlacedBatch& b) { return loss_of(b); }).clone());
      }
      all.push_back(weight_OI.grad().clone());
      const torch::NoGradGuard guard;
      weight_OI.sub_(weight_OI.grad(), 1e-3);
      cast();
    }
    return all;
  }
};

// Seen failing with the weight cast in later ones alone.
TEST(MicroBatchGraphs, LaterOnesReadWhatTheFirstHasCast) {
  const auto plain = Cast({}).steps(), graphs = Cast(kRecorded).steps();
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(at::equal(plain[i], graphs[i])) << i;
}

// Graphs are given up before micro batches, which change a run's bits.
TEST(MicroBatchGraphs, MemoryThatRunsOutWithThemLeavesMicroBatchesAlone) {
  TrainExample example;
  use_operators(example);
  EXPECT_EQ(example.train(example.config("plain"), false), 0);
  static const DeviceGraphModule hungry{
      .capture = [](torch::Device device, const DeviceGraph* before,
                    const std::function<void()>& work) -> std::unique_ptr<DeviceGraph> {
        struct Hungry final : DeviceGraph {
          std::unique_ptr<DeviceGraph> graph;
          int replays = 0;
          void replay() override {
            if (++replays == 3) throw std::runtime_error("CUDA out of memory");
            graph->replay();
          }
        };
        auto graph = std::make_unique<Hungry>();
        graph->graph = RecordedGraph::module().capture(device, before, work);
        return graph;
      }};
  example.graphs = DeviceGraphs{&hungry, {}};
  EXPECT_EQ(example.train(example.config("graphs"), false), 0);
  expect_same_end(example, "plain", "graphs", "twelve steps");
  EXPECT_EQ(example.newest("graphs").progress.micro_batch_tokens, 0);
}

}  // namespace
}  // namespace alibi
