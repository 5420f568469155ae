// Reversible layers and MLPs in chunks: the same gradients from less memory.
#include "model/reversible.h"

#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "device/libtorch.h"
#include "support/tiny_model.h"

namespace alibi {
namespace {

// Sums of gradients in any type, after the hidden states.
std::vector<torch::Tensor> gradients(Gpt& model, const torch::Tensor& tokens_BT,
                                     ForwardOptions options) {
  options.training = true;
  options.random = RandomKey{7};
  for (const torch::Tensor& p : model->parameters()) p.mutable_grad().reset();
  const torch::Tensor h_BTC = model->hidden(tokens_BT, options);
  const auto exact = h_BTC.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
  (h_BTC.to(exact) * torch::arange(h_BTC.size(1)).view({-1, 1})).sum().backward();
  std::vector<torch::Tensor> found{h_BTC.detach()};
  for (const torch::Tensor& p : model->parameters())
    if (p.grad().defined()) found.push_back(p.grad().clone());
  return found;
}

void expect_near(const std::vector<torch::Tensor>& found, const std::vector<torch::Tensor>& truth,
                 double most) {
  ASSERT_EQ(found.size(), truth.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double size = truth[i].abs().max().item<double>();
    EXPECT_LT(largest_difference(found[i], truth[i]), most * std::max(size, 1e-3)) << i;
  }
}

ForwardOptions again(std::int64_t chunk_rows = 0) {
  ForwardOptions options;
  options.recompute = true;
  options.mlp_chunk_rows = chunk_rows;
  return options;
}

// f and g of one weight each, so that the formula fits on a few lines. Seen failing with the first
// stream not recomputed.
TEST(Reversible, IsTheFormulaWithItsGradients) {
  torch::manual_seed(3);
  constexpr int kLayers = 5;
  std::vector<torch::Tensor> weights;
  for (int i = 0; i < 2 * kLayers; ++i)
    weights.push_back(torch::randn({6, 6}, torch::kDouble).requires_grad_());
  const torch::Tensor start = torch::randn({2, 7, 6}, torch::kDouble);
  const torch::Tensor gradient = torch::randn({2, 7, 6}, torch::kDouble);
  const auto part = [&](int i, const torch::Tensor& x) { return x.matmul(weights[i]).tanh(); };
  const auto results = [&](const std::function<torch::Tensor(const torch::Tensor&)>& function) {
    torch::Tensor x = start.clone().requires_grad_();
    for (torch::Tensor& w : weights) w.mutable_grad().reset();
    const torch::Tensor y = function(x);
    y.backward(gradient);
    std::vector<torch::Tensor> all{y.detach(), x.grad()};
    for (const torch::Tensor& w : weights) all.push_back(w.grad().clone());
    return all;
  };
  const auto truth = results([&](const torch::Tensor& x) {
    torch::Tensor x1 = x, x2 = x;
    for (int i = 0; i < kLayers; ++i) {
      x1 = x1 + part(2 * i, x2);
      x2 = x2 + part(2 * i + 1, x1);
    }
    return (x1 + x2) / 2;
  });
  for (const Activations activations : {Activations::kStored, Activations::kRecomputed}) {
    for (const std::int64_t chunk : {0, 1, 4, 14, 100}) {
      const auto found = results([&](const torch::Tensor& x) {
        std::vector<ReversibleLayer> layers;
        for (int i = 0; i < kLayers; ++i)
          layers.push_back(
              {[=](const torch::Tensor& of) { return part(2 * i, of); },
               [=](const torch::Tensor& of, std::int64_t) { return part(2 * i + 1, of); }});
        return reversible_layers(x, std::move(layers), activations, chunk);
      });
      expect_near(found, truth, 1e-10);
    }
  }
}

TEST(Reversible, GradientsAreThoseOfStoredActivations) {
  for (const Position position : kAllPositions) {
    for (const auto type : {torch::kFloat, torch::kBFloat16}) {
      SCOPED_TRACE(name_of(position));
      ModelConfig config = rich_config(position);  // dropout and all
      config.layers = 4;
      config.reversible = true;
      Gpt model = tiny_model(config, type);
      const torch::Tensor tokens_BT = tiny_tokens(2, 40);
      const auto stored = gradients(model, tokens_BT, {});
      // Of bf16 a recomputed input may round the other way.
      expect_near(gradients(model, tokens_BT, again()), stored,
                  type == torch::kFloat ? 1e-4 : 3e-2);
      expect_near(gradients(model, tokens_BT, again(24)), stored,
                  type == torch::kFloat ? 1e-4 : 3e-2);
    }
  }
}

// What recomputation adds to the streams' last bits grows with depth.
TEST(Reversible, GradientsOf24LayersAreThoseOfStoredActivations) {
  ModelConfig config = tiny_config(Position::kAlibi);
  config.layers = 24;
  config.reversible = true;
  const torch::Tensor tokens_BT = tiny_tokens(2, 40);
  for (const auto type : {torch::kFloat, torch::kBFloat16}) {
    Gpt model = tiny_model(config, type);
    expect_near(gradients(model, tokens_BT, again()), gradients(model, tokens_BT, {}),
                type == torch::kFloat ? 1e-4 : 3e-2);
  }
}

TEST(Reversible, IsAnotherModelThanOneStream) {
  ModelConfig config = tiny_config(Position::kAlibi);
  Gpt one = tiny_model(config);
  config.reversible = true;
  Gpt two = tiny_model(config);
  const torch::Tensor tokens_BT = tiny_tokens(1, 20);
  EXPECT_GT(largest_difference(tiny_logits(one, tokens_BT), tiny_logits(two, tokens_BT)), 0.01);
}

TEST(Reversible, GoesOnFromACacheAndByLayers) {
  for (const auto type : {torch::kFloat, torch::kBFloat16}) {
    const double most = type == torch::kFloat ? 1e-4 : 0.2;
    ModelConfig config = tiny_config(Position::kAlibi);
    config.reversible = true;
    Gpt model = tiny_model(config, type);
    const torch::Tensor tokens_BT = tiny_tokens(2, 200);
    const torch::NoGradGuard guard;
    const torch::Tensor expected = model->hidden(tokens_BT);
    EXPECT_LT(largest_difference(model->hidden_by_layers(tokens_BT, {}, 64), expected), most);
    KeyValueCache cache(config.layers);
    ForwardOptions options;
    options.cache = &cache;
    for (std::int64_t first = 0; first < 200; first += 50)
      EXPECT_LT(largest_difference(model->hidden(tokens_BT.narrow(1, first, 50), options),
                                   expected.narrow(1, first, 50)),
                most);
  }
}

// Bits of the forward pass; gradients of weights are summed by chunk.
TEST(MlpChunks, ChangeNothingButTheOrderOfSums) {
  for (const bool reversible : {false, true}) {
    for (const bool recompute : {false, true}) {
      ModelConfig config = rich_config(Position::kAlibi);
      config.reversible = reversible;
      Gpt model = tiny_model(config);
      const torch::Tensor tokens_BT = tiny_tokens(3, 40);
      ForwardOptions whole, chunks = again(50);
      whole.recompute = chunks.recompute = recompute;
      const auto truth = gradients(model, tokens_BT, whole);
      const auto found = gradients(model, tokens_BT, chunks);
      EXPECT_TRUE(torch::equal(found[0], truth[0]));
      expect_near(found, truth, 1e-4);
    }
  }
}

// LibTorch's allocator, which counts what tensors hold, and the most they held.
class CountingAllocator final : public c10::Allocator {
 public:
  CountingAllocator() {
    real();
    c10::SetCPUAllocator(this, kPriority);
  }
  ~CountingAllocator() override { c10::SetCPUAllocator(real(), kPriority); }
  CountingAllocator(const CountingAllocator&) = delete;
  CountingAllocator& operator=(const CountingAllocator&) = delete;

  c10::DataPtr allocate(std::size_t size) override {
    void* const data = real()->raw_allocate(size);
    Count& all = count();
    const std::lock_guard lock(all.mutex);
    all.sizes[data] = static_cast<std::int64_t>(size);
    all.most = std::max(all.most, all.now += static_cast<std::int64_t>(size));
    return {data, data, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t size) const override {
    default_copy_data(to, from, size);
  }
  std::int64_t now() const { return count().now; }
  std::int64_t most() const { return count().most; }
  void forget_most() { count().most = count().now; }

 private:
  static constexpr std::uint8_t kPriority = 100;
  struct Count {
    std::mutex mutex;
    std::map<void*, std::int64_t> sizes;
    std::int64_t now = 0, most = 0;
  };
  static c10::Allocator* real() {
    static c10::Allocator* const found = c10::GetCPUAllocator();
    return found;
  }
  static Count& count() {  // outlives tensors that outlive the test
    static auto* const all = new Count;
    return *all;
  }
  static void release(void* data) {
    {
      Count& all = count();
      const std::lock_guard lock(all.mutex);
      all.now -= all.sizes[data];
      all.sizes.erase(data);
    }
    real()->raw_deallocate(data);
  }
};

struct StepMemory {
  std::int64_t kept = 0;  // of the forward pass, for the gradient
  std::int64_t most = 0;  // of the whole step
};

// Beyond weights and their gradients.
StepMemory memory_of_step(const ModelConfig& config, const ForwardOptions& options,
                          torch::ScalarType type) {
  CountingAllocator memory;
  Gpt model = tiny_model(config, type);
  for (const torch::Tensor& p : model->parameters()) p.mutable_grad() = torch::zeros_like(p);
  const torch::Tensor tokens_BT = tiny_tokens(4, 256);
  const auto step = [&] {
    const std::int64_t before = memory.now();
    memory.forget_most();
    StepMemory found;
    torch::Tensor h_BTC = model->hidden(tokens_BT, options);
    found.kept = memory.now() - before;
    h_BTC.sum().backward();
    found.most = memory.most() - before;
    return found;
  };
  step();  // packs weights
  return step();
}

// The paper's claim. Seen failing with stored activations.
TEST(Reversible, ActivationsOf24LayersAreThoseOf2) {
  for (const auto type : {torch::kFloat, torch::kBFloat16}) {
    ModelConfig config = tiny_config(Position::kAlibi);
    config.width = 64;
    const auto of_depth = [&](std::int64_t layers, bool reversible, bool recompute) {
      config.layers = layers;
      config.reversible = reversible;
      ForwardOptions options;
      options.recompute = recompute;
      return memory_of_step(config, options, type);
    };
    const StepMemory shallow = of_depth(2, true, true), deep = of_depth(24, true, true);
    EXPECT_LE(static_cast<double>(deep.kept), 1.15 * static_cast<double>(shallow.kept));
    EXPECT_LE(static_cast<double>(deep.most), 1.15 * static_cast<double>(shallow.most));
    EXPECT_GT(of_depth(24, false, true).most, deep.most + deep.most / 2);
    EXPECT_GT(of_depth(24, true, false).most, 8 * deep.most);
  }
}

TEST(MlpChunks, KeepTheMlpOfOneChunk) {
  ModelConfig config = tiny_config(Position::kAlibi);
  config.mlp_width = 2048;
  ForwardOptions whole, chunks;
  chunks.mlp_chunk_rows = 64;
  const std::int64_t one_layer = 4 * 256 * 2048 * 4;
  EXPECT_GT(memory_of_step(config, whole, torch::kFloat).most, 3 * one_layer);
  EXPECT_LT(memory_of_step(config, chunks, torch::kFloat).most, one_layer);
}

}  // namespace
}  // namespace alibi
