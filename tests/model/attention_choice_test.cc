// Which kernel a problem of a device gets, and what a kernel must show before. Devices' kernels are
// played on the host (model/device_on_host.h); spoiled ones have one number changed behind them.
#include <gtest/gtest.h>

#include "base/error.h"
#include "device/cuda_library.h"
#include "device/libtorch.h"
#include "model/attention_check.h"
#include "model/attention_device.h"
#include "model/device_on_host.h"
#include "model/plain_attention.h"
#include "support/error_text.h"
#include "support/tiny_model.h"

namespace alibi {
namespace {

const CudaKernels& kernels_that_are_there() {
  static const CudaModule module;
  static const CudaKernels there{&module, ""};
  return there;
}
const CudaKernels& kernels_that_are_missing() {
  static const CudaKernels missing{nullptr, "no such file"};
  return missing;
}

// The real list as it would be on a machine with a device: kernels by their places in it.
std::vector<AttentionKernel> list_with_a_device() {
  std::vector<AttentionKernel> kernels(attention_kernels().begin(), attention_kernels().end());
  for (AttentionKernel& kernel : kernels) {
    if (kernel.library == nullptr) continue;
    kernel.library = kernels_that_are_there;
    if (std::string(kernel.name) == "cuda")
      kernel.lacks = [](const AttentionProblem& p, torch::Device) {
        return device_attention_lacks(p);
      };
    else
      kernel.lacks = [](const AttentionProblem& p, torch::Device) {
        return cudnn_attention_lacks(p);
      };
  }
  return kernels;
}

AttentionKernel& named(std::vector<AttentionKernel>& kernels, const std::string& name) {
  return *std::ranges::find_if(kernels,
                               [&](const AttentionKernel& one) { return name == one.name; });
}

constexpr AttentionProblem kUsual = {.sequences = 8,
                                     .heads = 12,
                                     .key_value_heads = 12,
                                     .queries = 1024,
                                     .keys = 1024,
                                     .head_width = 64,
                                     .scalar = ScalarKind::kBf16,
                                     .bias = {.slopes = true}};

AttentionProblem with(const std::function<void(AttentionProblem&)>& change) {
  AttentionProblem problem = kUsual;
  change(problem);
  return problem;
}

// Answers in place of the device, which this machine lacks: all kernels but `wrong` are right.
class Answers {
 public:
  explicit Answers(std::string wrong = {}) : wrong_(std::move(wrong)) {}

  std::string chosen(const AttentionProblem& problem, const std::string& choice = "auto") {
    answer(problem);
    return choose_attention(problem, kDevice, choice, {kernels, &uses_}).name;
  }

  std::string why(const AttentionProblem& problem, const std::string& choice = "auto") {
    answer(problem);
    return why_no_device_kernel(problem, kDevice, choice, {kernels, &uses_});
  }

  std::vector<AttentionKernel> kernels = list_with_a_device();
  const torch::Device kDevice{torch::kCUDA, 0};

 private:
  void answer(const AttentionProblem& problem) {
    for (const AttentionKernel& kernel : kernels)
      uses_.fault(kind_of_problem(kernel, problem, kDevice), "leave it", [&] {
        return std::string(kernel.name == wrong_ ? "the output is off by 3" : "");
      });
  }

  std::string wrong_;
  FirstUse uses_;
};

// The table in model/attention.h. Seen failing with either of its first two rows left out.
TEST(ChooseAttention, OnADeviceAutoFollowsTheTable) {
  Answers answers;
  const auto chosen = [&](const std::function<void(AttentionProblem&)>& change) {
    return answers.chosen(with(change));
  };
  using P = AttentionProblem;
  for (const std::int64_t length : {1, 64, 1024, 65'536})
    EXPECT_EQ(chosen([&](P& p) { p.queries = p.keys = length; }), "cuda") << length;
  for (const std::int64_t width : {8, 64, 96, 128, 256})
    EXPECT_EQ(chosen([&](P& p) { p.head_width = width; }), "cuda") << width;
  for (const BiasForms& bias : {BiasForms(), BiasForms{.slopes = true}, BiasForms{.table = true},
                                BiasForms{.terms = true}, BiasForms{.slopes = true, .table = true}})
    for (const bool learned : {false, true})
      EXPECT_EQ(chosen([&](P& p) { p.bias = bias, p.bias_gradient = learned; }), "cuda");
  EXPECT_EQ(chosen([](P& p) { p.documents = true; }), "cuda");
  EXPECT_EQ(chosen([](P& p) { p.pattern = p.documents = true; }), "cuda");
  const auto continues = [](std::int64_t queries) {
    return [=](P& p) { p.pattern = true, p.queries = queries; };
  };
  EXPECT_EQ(chosen(continues(960)), "cuda") << "keys before the first query are whole blocks";
  EXPECT_EQ(chosen(continues(961)), "reference");
  for (const std::int64_t queries : {1, 63})
    EXPECT_EQ(chosen([&](P& p) { p.pattern = true, p.queries = queries, p.keys = 960 + queries; }),
              "reference")
        << "text that is generated";
  EXPECT_EQ(chosen([](P& p) { p.queries = 1, p.keys = 100'000; }), "cuda") << "a bias leaves out";

  const auto decodes = [](std::int64_t queries, std::int64_t keys) {
    return [=](P& p) { p.sequences = 2, p.bias = {}, p.queries = queries, p.keys = keys; };
  };
  EXPECT_EQ(chosen(decodes(16, 32'768)), "reference");
  EXPECT_EQ(chosen([&](P& p) { decodes(1, 32'768)(p), p.sequences = 3; }), "cuda");
  EXPECT_EQ(chosen(decodes(17, 32'768)), "cuda");
  EXPECT_EQ(chosen(decodes(1, 32'767)), "cuda");

  EXPECT_EQ(chosen([](P& p) { p.scalar = ScalarKind::kFp32; }), "reference");
  EXPECT_EQ(chosen([](P& p) { p.dropout = true; }), "reference");
  EXPECT_EQ(chosen([](P& p) { p.pattern_by_documents = p.pattern = true; }), "reference");
  EXPECT_EQ(chosen([](P& p) { p.hashed = true; }), "reference");
  EXPECT_EQ(chosen([](P& p) { p.bias = {.rows = true}; }), "reference");
  EXPECT_EQ(chosen([](P& p) { p.head_width = 68; }), "reference");
  EXPECT_EQ(chosen([](P& p) { p.head_width = 264; }), "reference");
}

// Seen failing with twice the length.
TEST(ChooseAttention, FastestTakesWhatSumsInNoOrderForShortRows) {
  Answers answers;
  const auto chosen = [&](const std::function<void(AttentionProblem&)>& change) {
    return answers.chosen(with(change), "fastest");
  };
  using P = AttentionProblem;
  EXPECT_EQ(chosen([](P&) {}), "cudnn");
  EXPECT_EQ(chosen([](P& p) { p.queries = p.keys = 2048; }), "cudnn");
  EXPECT_EQ(chosen([](P& p) { p.queries = p.keys = 2049; }), "cuda");
  EXPECT_EQ(chosen([](P& p) { p.queries = 1; }), "cuda");
  EXPECT_EQ(chosen([](P& p) { p.documents = true; }), "cuda");
  EXPECT_EQ(chosen([](P& p) { p.bias_gradient = true; }), "cuda") << "cuDNN has no such gradient";
  EXPECT_EQ(chosen([](P& p) { p.dropout = true; }), "reference");
  EXPECT_EQ(chosen([](P& p) { p.sequences = 2, p.bias = {}, p.queries = 1, p.keys = 40'000; }),
            "reference");
  Answers wrong("cudnn");
  EXPECT_EQ(wrong.chosen(kUsual, "fastest"), "cuda");
  EXPECT_NE(choose_attention(kUsual, torch::kCPU, "fastest").name, std::string("cudnn"));
}

TEST(ChooseAttention, WhyNoKernelOfADeviceIsSaid) {
  Answers answers;
  const auto why = [&](const std::function<void(AttentionProblem&)>& change) {
    return answers.why(with(change));
  };
  using P = AttentionProblem;
  EXPECT_EQ(answers.why(kUsual), "");
  EXPECT_NAMES(why([](P& p) { p.dropout = true; }), "cuda", "dropout", "cudnn");
  EXPECT_NAMES(why([](P& p) { p.sequences = 1, p.bias = {}, p.queries = 1, p.keys = 40'000; }),
               "cuda", "few queries");
  EXPECT_EQ(answers.why(with([](P& p) { p.dropout = true; }), "reference"), "") << "asked for";
  Answers wrong("cuda");
  EXPECT_NAMES(wrong.why(kUsual), "cuda", "the output is off by 3", "cudnn", "by its name");
  named(answers.kernels, "cuda").library = kernels_that_are_missing;
  named(answers.kernels, "cuda").lacks = [](const P&, torch::Device) { return "this machine"; };
  EXPECT_NAMES(answers.why(kUsual), "cuda", "no such file");
}

// Seen failing with a refusal in place of the other kernel.
TEST(ChooseAttention, WhatADevicesKernelDoesNotTakeGoesToTheNextOneThere) {
  Answers answers;
  const auto learned = with([](AttentionProblem& p) { p.bias_gradient = true; });
  const auto dropped = with([](AttentionProblem& p) { p.dropout = true; });
  EXPECT_EQ(answers.chosen(kUsual, "cudnn"), "cudnn");
  EXPECT_EQ(answers.chosen(learned, "cudnn"), "cuda");
  EXPECT_EQ(answers.chosen(dropped, "cudnn"), "reference");
  EXPECT_EQ(answers.chosen(dropped, "cuda"), "reference");
  EXPECT_EQ(answers.chosen(kUsual, "check"), "cuda");
  EXPECT_EQ(answers.chosen(dropped, "check"), "reference");
  EXPECT_EQ(answers.chosen(kUsual, "reference"), "reference");
  const auto fault = [&](const std::string& choice, torch::Device device) {
    return error_text(
        [&] { choose_attention(dropped, device, choice, {.kernels = answers.kernels}); });
  };
  EXPECT_ERROR_AT(fault("cudnn", torch::kCPU), "/runtime/attention/kernel", "cudnn");
  EXPECT_ERROR_AT(fault("avx512", answers.kDevice), "/runtime/attention/kernel", "avx512");
  named(answers.kernels, "cudnn").library = kernels_that_are_missing;
  EXPECT_NAMES(fault("cudnn", answers.kDevice), "\"cudnn\"", "no such file");
}

TEST(ChooseAttention, AKernelThatIsSetAsideIsNotTakenByItsNameEither) {
  Answers wrong("cuda");
  EXPECT_EQ(wrong.chosen(kUsual), "reference");
  EXPECT_EQ(wrong.chosen(kUsual, "cuda"), "cudnn") << "what stands in for a name is on the device";
  EXPECT_EQ(wrong.chosen(kUsual, "check"), "cuda") << "compares each call itself";
  Answers other("cudnn");
  EXPECT_EQ(other.chosen(kUsual), "cuda");
  EXPECT_EQ(other.chosen(kUsual, "cudnn"), "cuda");
}

// What is changed of a played kernel's results.
struct Spoiled {
  std::string what;
  double by = 0;
} spoiled;

void spoil(const char* what, torch::Tensor& x) {
  if (spoiled.what != what || !x.defined()) return;
  x = x.clone(torch::MemoryFormat::Contiguous);
  x.view(-1)[x.numel() / 2] += spoiled.by;
}

AttentionKernel spoiled_kernel() {
  AttentionKernel kernel = device_kernels_on_host()[0];
  kernel.name = "cuda";
  kernel.library = kernels_that_are_there;
  kernel.forward = [](const AttentionInputs& inputs) {
    if (spoiled.what == "launch") throw Error("CUDA device", "no such launch", "go on without");
    AttentionOutputs outputs = device_kernels_on_host()[0].forward(inputs);
    spoil("output", outputs.output_BHTD);
    spoil("log-sum-exp", outputs.lse_BHT);
    return outputs;
  };
  kernel.backward = [](const AttentionInputs& inputs, const AttentionOutputs& outputs,
                       const torch::Tensor& gradient_BHTD) {
    AttentionGradients gradients =
        device_kernels_on_host()[0].backward(inputs, outputs, gradient_BHTD);
    spoil("gradient of q", gradients.q_BHTD);
    spoil("gradient of k", gradients.k_BGSD);
    spoil("gradient of v", gradients.v_BGSD);
    spoil("gradient of slopes", gradients.bias.slopes_H);
    spoil("gradient of the bias table", gradients.bias.table_HL);
    spoil("gradient of bias terms", gradients.bias.terms_BHS);
    if (spoiled.what == "no gradient of slopes") gradients.bias = {};
    return gradients;
  };
  return kernel;
}

std::string fault_of(const AttentionKernel& kernel, const BiasForms& bias, bool learned,
                     std::int64_t width = 64, bool pattern = false) {
  return fault_of_attention(kernel, with([&](AttentionProblem& p) {
                              p.bias = bias, p.bias_gradient = learned, p.head_width = width,
                              p.pattern = pattern;
                            }),
                            torch::kCPU);
}

constexpr BiasForms kForms[] = {{}, {.slopes = true}, {.table = true}, {.terms = true}};

TEST(AttentionCheck, KernelsThatAreRightPassItInEveryForm) {
  for (const AttentionKernel& kernel : device_kernels_on_host())
    for (const BiasForms& bias : kForms)
      for (const bool learned : {false, true})
        for (const bool pattern : {false, true}) {
          const auto problem = with([&](AttentionProblem& p) {
            p.bias = bias, p.bias_gradient = learned, p.pattern = pattern;
          });
          const std::string fault = fault_of(kernel, bias, learned, 64, pattern);
          EXPECT_EQ(fault.empty(), kernel.supports(problem, torch::kCPU))
              << kernel.name << bias.slopes << bias.table << bias.terms << learned << pattern
              << fault;
        }
}

TEST(AttentionCheckSlow, KernelsThatAreRightPassItAtEveryWidth) {
  for (const BiasForms& bias : kForms)
    for (const bool learned : {false, true})
      for (const std::int64_t width : {8, 40, 96, 128, 160, 256})
        EXPECT_EQ(fault_of(device_kernels_on_host()[0], bias, learned, width), "")
            << bias.slopes << bias.table << bias.terms << learned << width;
}

// One number of each result, moved by a few percent of what its like are; of slopes a sum of 400
// rows times their distances.
TEST(AttentionCheck, FindsOneNumberThatIsWrong) {
  const AttentionKernel kernel = spoiled_kernel();
  const auto fault = [&](const char* what, double by, const BiasForms& bias = {.slopes = true}) {
    spoiled = {what, by};
    const std::string found = fault_of(kernel, bias, true);
    spoiled = {};
    return found;
  };
  EXPECT_EQ(fault("nothing", 1), "");
  for (const char* what :
       {"output", "gradient of q", "gradient of k", "gradient of v", "log-sum-exp"}) {
    EXPECT_KEYWORD(fault(what, 0.1), what);
    EXPECT_KEYWORD(fault(what, NAN), what);
  }
  EXPECT_KEYWORD(fault("gradient of slopes", 40), "gradient of slopes");
  EXPECT_KEYWORD(fault("gradient of the bias table", 1, {.table = true}), "bias table");
  EXPECT_KEYWORD(fault("gradient of bias terms", 0.2, {.terms = true}), "bias terms");
  EXPECT_KEYWORD(fault("no gradient of slopes", 0), "missing");
}

// Bugs of a kind that a device would show.
TEST(AttentionCheck, FindsWhatIsLeftOutOrSeenTooMuch) {
  AttentionKernel kernel = device_kernels_on_host()[0];
  kernel.forward = [](const AttentionInputs& inputs) {
    AttentionInputs other = inputs;
    if (spoiled.what == "documents") other.options.visible.first_BT = torch::Tensor();
    if (spoiled.what == "a key") other.k_BGSD = inputs.k_BGSD.clone(), other.k_BGSD[0][0][70] = 0;
    if (spoiled.what == "scale") other.options.scale *= 1.02;
    if (spoiled.what == "slopes") other.options.bias = {};
    if (spoiled.what == "pattern") other.options.visible.rules = nullptr;
    return device_kernels_on_host()[0].forward(other);
  };
  for (const std::string what : {"documents", "a key", "scale", "slopes", "pattern"}) {
    spoiled = {what, 0};
    const bool pattern = what == "pattern";
    EXPECT_KEYWORD(fault_of(kernel, {.slopes = true}, false, 64, pattern), "output") << what;
  }
  spoiled = {};
}

// The whole way on the CPU, which the played kernel takes for its device: from the first call of
// `choose_attention` to what stands in.
TEST(AttentionCheck, AKernelThatIsWrongOrCannotBeQueuedIsSetAsideOnce) {
  std::vector<AttentionKernel> kernels = {spoiled_kernel(), attention_kernels().back()};
  for (const char* what : {"gradient of k", "launch"}) {
    FirstUse uses;
    const AttentionList list{kernels, &uses};
    const auto chosen = [&](const AttentionProblem& problem, const char* choice) {
      return std::string(choose_attention(problem, torch::kCPU, choice, list).name);
    };
    const auto wide = with([](AttentionProblem& p) { p.head_width = 128; });
    spoiled = {};
    EXPECT_EQ(chosen(wide, "auto"), "cuda");
    spoiled = {what, 0.5};
    testing::internal::CaptureStderr();
    EXPECT_EQ(chosen(kUsual, "auto"), "reference");
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NAMES(said, "warning", "kernel cuda", "heads of 64", "slopes",
                 what == std::string("launch") ? "no such launch" : what);
    testing::internal::CaptureStderr();
    EXPECT_EQ(chosen(kUsual, "auto"), "reference");
    EXPECT_EQ(chosen(kUsual, "cuda"), "reference");
    EXPECT_EQ(chosen(wide, "auto"), "cuda") << "its kind was right";
    EXPECT_NAMES(why_no_device_kernel(kUsual, torch::kCPU, "auto", list), "cuda", "set aside");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    spoiled = {};
  }
}

TEST(AttentionCheck, DrawsNothingFromTheGeneratorsOfARun) {
  torch::manual_seed(1);
  const torch::Tensor expected = torch::randn({4});
  torch::manual_seed(1);
  EXPECT_EQ(fault_of(device_kernels_on_host()[0], {.table = true}, true), "");
  EXPECT_TRUE(torch::equal(torch::randn({4}), expected));
}

TEST(AttentionCheckCuda, KernelsOfTheDevicePassItAndAutoTakesThem) {
  if (!open_cuda_library().usable) GTEST_SKIP() << open_cuda_library().reason;
  const torch::Device device(torch::kCUDA, 0);
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (kernel.library == nullptr) continue;
    for (const BiasForms& bias : kForms) {
      for (const bool learned : {false, true}) {
        for (const std::int64_t width : {8, 64, 96, 128, 256}) {
          for (const bool pattern : {false, true}) {
            const auto problem = with([&](AttentionProblem& p) {
              p.bias = bias, p.bias_gradient = learned, p.head_width = width, p.pattern = pattern;
            });
            if (!kernel.supports(problem, device)) continue;
            EXPECT_EQ(fault_of_attention(kernel, problem, device), "")
                << kind_of_problem(kernel, problem, device);
          }
        }
      }
    }
  }
  EXPECT_STREQ(choose_attention(kUsual, device, "auto").name, "cuda");
}

}  // namespace
}  // namespace alibi
