// That a step hands its work to a device without waiting for it: on LibTorch's meta device, whose
// tensors have shapes and no numbers, so that whatever asks for a number throws; and on a CUDA
// device by LibTorch's own record of calls that wait.
#include <ATen/ops/copy_native.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <atomic>

#include "device/cuda_library.h"
#include "device/device.h"
#include "train/example.h"
#include "train/gradient_accumulator.h"

namespace alibi {
namespace {

// Shapes that LibTorch knows in Python alone.
torch::Tensor shape_of_index_select(const torch::Tensor& from, std::int64_t dim,
                                    const torch::Tensor& index) {
  std::vector<std::int64_t> sizes = from.sizes().vec();
  sizes[static_cast<std::size_t>(dim)] = index.numel();
  return torch::empty(sizes, from.options());
}
torch::Tensor shape_of_embedding_gradient(const torch::Tensor& gradient, const torch::Tensor&,
                                          c10::SymInt rows, c10::SymInt, bool) {
  return torch::empty({rows.expect_int(), gradient.size(-1)}, gradient.options());
}
std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> shapes_of_layer_norm(
    const torch::Tensor& x, c10::SymIntArrayRef, const std::optional<torch::Tensor>&,
    const std::optional<torch::Tensor>&, double) {
  std::vector<std::int64_t> rows = x.sizes().vec();
  rows.back() = 1;
  const auto whole = x.options().dtype(torch::kFloat);
  return {torch::empty(x.sizes(), x.options()), torch::empty(rows, whole),
          torch::empty(rows, whole)};
}
std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> shapes_of_layer_norm_gradients(
    const torch::Tensor& gradient, const torch::Tensor& x, c10::SymIntArrayRef,
    const torch::Tensor&, const torch::Tensor&, const std::optional<torch::Tensor>& weight,
    const std::optional<torch::Tensor>&, std::array<bool, 3>) {
  return {torch::empty(x.sizes(), gradient.options()), torch::empty(weight->sizes(), x.options()),
          torch::empty(weight->sizes(), x.options())};
}
torch::Tensor shape_of_where(const torch::Tensor&, const torch::Tensor& a, const torch::Tensor&) {
  return torch::empty(a.sizes(), a.options());
}

void no_cummax(const torch::Tensor&, torch::Tensor&, torch::Tensor&, std::int64_t) {}

torch::Tensor& shape_of_logical_not(const torch::Tensor& x, torch::Tensor& out) {
  out.resize_(x.sizes());
  return out;
}

std::atomic<int> copies_from_host = 0;
torch::Tensor& counted_copy(torch::Tensor& to, const torch::Tensor& from, bool non_blocking) {
  if (to.is_meta() && from.is_cpu()) ++copies_from_host;
  return at::native::copy_(to, from, non_blocking);
}

TORCH_LIBRARY_IMPL(aten, Meta, shapes) {
  shapes.impl("copy_", counted_copy);
  shapes.impl("_cummax_helper", no_cummax);
  shapes.impl("logical_not.out", shape_of_logical_not);
  shapes.impl("where.self", shape_of_where);
  shapes.impl("native_layer_norm", shapes_of_layer_norm);
  shapes.impl("native_layer_norm_backward", shapes_of_layer_norm_gradients);
  shapes.impl("index_select", shape_of_index_select);
  shapes.impl("embedding_dense_backward", shape_of_embedding_gradient);
}

// What trains on a device, without sinks and checkpoints.
class Steps {
 public:
  Steps(TrainExample& example, const std::vector<std::string>& changes, torch::Device device)
      : config_(example.config("run", changes)),
        text_(prepare_text(config_.data, config_.tokenizer, 1)),
        state_(config_, text_, device.is_meta() ? torch::Device(torch::kCPU) : device, alone_,
               std::nullopt),
        agreement_(alone_),
        emitter_(config_.guard.failed_save),
        reader_(text_.train, config_.batch, 1, config_.data.separate_documents),
        exchange_(alone_, state_.shards, state_.parameters),
        gradients_(config_, device, state_, exchange_, agreement_, emitter_) {
    // Parameters are moved as set_data() does, which refuses this device.
    for (const torch::Tensor& parameter : state_.parameters) {
      if (!device.is_meta()) break;
      const torch::Tensor moved = torch::empty(parameter.sizes(), torch::kMeta);
      parameter.unsafeGetTensorImpl()->shallow_copy_from(moved.getIntrusivePtr());
    }
  }

  // One step's forward and backward passes, to where its figures are read.
  std::string error_of_step() {
    const Batch batch = reader_.read(0);
    try {
      gradients_.compute(batch);
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    return "";
  }

  // What follows where the guard has nothing to say.
  void update() {
    const std::vector<torch::Tensor> gradients = exchange_.gradients();
    clip_gradients(gradients, 2, 1);
    state_.optimizer.update(gradients, 1, 1e-3);
  }

  // In the order of what is computed, the gradients are the last before the figures.
  bool has_gradients() const {
    return std::ranges::all_of(exchange_.gradients(),
                               [](const torch::Tensor& gradient) { return gradient.defined(); });
  }

 private:
  Config config_;
  PreparedText text_;
  World alone_;
  TrainState state_;
  Agreement agreement_;
  Emitter emitter_;
  BatchReader reader_;
  GradientExchange exchange_;
  GradientAccumulator gradients_;
};

const std::vector<std::vector<std::string>> kCases = {
    {},
    {"data.separate_documents=true"},
    {"runtime.recompute=blocks"},
    {"model.position=alibi"},
    {"model.position=rotary"},
    {"model.position=t5"},
    {"model.position=kerple"},
    {"model.position=sinusoidal"},
    {"model.position=learned"},
    {"model.position=none"},
    {"model.position=alibi", "model.attention_pattern=[\"lsh(4, 8, 2)\"]"},
};

TEST(DeviceWaits, AStepCopiesItsBatchOnceAndWaitsOnlyForItsFigures) {
  for (const std::vector<std::string>& changes : kCases) {
    SCOPED_TRACE(changes.empty() ? "as it is" : changes.back());
    TrainExample example;
    if (!changes.empty()) example.leave_out("model.learned_slopes=true");
    Steps steps(example, changes, torch::kMeta);
    EXPECT_NE(steps.error_of_step(), "") << "the meta device has no figures";  // tables are made
    copies_from_host = 0;
    const std::string error = steps.error_of_step();
    EXPECT_NE(error.find("Cannot copy out of meta tensor"), std::string::npos) << error;
    EXPECT_TRUE(steps.has_gradients()) << error;
    EXPECT_EQ(copies_from_host, 1) << "the batch";
  }
}

// LibTorch's warnings of calls that wait for a CUDA device, from here until the end of its life.
class Waits final : public c10::WarningHandler {
 public:
  // The mode has no function to set it but in headers that need a CUDA toolkit:
  // c10::cuda::warning_state().
  Waits() {
    void* const library = dlopen("libc10_cuda.so", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return;
    mode_ = static_cast<int*>(dlsym(library, "_ZZN3c104cuda13warning_stateEvE14warning_state_"));
    if (mode_ != nullptr) *mode_ = 1;  // SyncDebugMode::L_WARN
  }
  ~Waits() override {
    if (mode_ != nullptr) *mode_ = 0;
  }
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;

  void process(const c10::Warning& warning) override {
    if (warning.msg().find("synchronizing CUDA operation") != std::string::npos) ++count_;
  }
  bool are_seen() const { return mode_ != nullptr; }
  int count() const { return count_; }

 private:
  int* mode_ = nullptr;
  int count_ = 0;
  c10::WarningUtils::WarningHandlerGuard guard_{this};
};

// Counted, for the mode that makes an error of a wait would end a step at its only one. Not yet run
// on a device.
TEST(DeviceWaitsCuda, AStepWaitsOnceByLibTorchsOwnCount) {
  if (!open_cuda_library().usable) GTEST_SKIP() << open_cuda_library().reason;
  ASSERT_NE(cuda_kernels().module, nullptr) << cuda_kernels().reason;
  ASSERT_NE(row_kernels().module, nullptr) << row_kernels().reason;
  const torch::Device device = open_device(Device::kCuda);  // by the rules of training
  std::vector<std::vector<std::string>> cases = kCases;
  cases.push_back({"optimizer.kind=normuon"});
  for (std::vector<std::string> changes : cases) {
    SCOPED_TRACE(changes.empty() ? "as it is" : changes.back());
    TrainExample example;
    if (!changes.empty()) example.leave_out("model.learned_slopes=true");
    // Which our attention leaves to the reference.
    if (changes.empty() || changes.back() != "model.position=none")
      example.leave_out("model.attention_dropout=0.1");
    changes.emplace_back("runtime.precision=bf16");
    Steps steps(example, changes, device);
    EXPECT_EQ(steps.error_of_step(), "");  // kernels are checked at their first use
    steps.update();
    const Waits waits;
    ASSERT_TRUE(waits.are_seen());
    EXPECT_EQ(steps.error_of_step(), "");
    steps.update();
    EXPECT_EQ(waits.count(), 1) << "the step's figures";
    torch::ones({}, torch::kCUDA).item<float>();
    EXPECT_EQ(waits.count(), 2) << "what counts them works";
  }
}

}  // namespace
}  // namespace alibi
