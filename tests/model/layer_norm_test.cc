// The one-pass norm against the formula in fp64; where a processor lacks bf16 instructions there is
// none, and LibTorch's sums are coarser. A device's kernels are run on the host.
#include "model/layer_norm.h"
#include "device/libtorch.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "device/cuda_library.h"
#include "device/device.h"
#include "kernels/cuda/host_row_module.h"
#include "kernels/processor.h"
#include "model/layer_norm_device.h"
#include "support/error_text.h"

namespace alibi {
namespace {

struct Example {
  LayerNorm norm;
  torch::Tensor x, dsame, dnormed;

  Example(std::int64_t rows, std::int64_t width, bool biased) {
    torch::manual_seed(static_cast<std::uint64_t>(rows * 31 + width));
    norm = {1 + torch::randn({width}) / 4, biased ? torch::randn({width}) : torch::Tensor(), 1e-5};
    // Far from zero beside its spread: sums of squares alone would lose the variance.
    x = (torch::randn({2, rows, width}) + 30).to(torch::kBFloat16);
    dsame = torch::randn_like(x);
    dnormed = torch::randn_like(x);
  }
};

// y, then the gradients of x, gains and biases, of sum(same * dsame + normed * dnormed).
std::vector<torch::Tensor> results(const Example& e, torch::ScalarType type,
                                   const RowModule* kernels = nullptr,
                                   torch::Device device = torch::kCPU) {
  const auto leaf = [&](const torch::Tensor& x) {
    return x.defined() ? x.to(device, x.scalar_type(), false, true).requires_grad_(true) : x;
  };
  const torch::Tensor x = leaf(e.x.to(type));
  const auto gain_type = type == torch::kBFloat16 ? torch::kFloat : type;
  const torch::Tensor weight_C = leaf(e.norm.weight_C.to(gain_type));
  const torch::Tensor bias_C =
      e.norm.bias_C.defined() ? leaf(e.norm.bias_C.to(gain_type)) : torch::Tensor();
  const NormFork both = fork_norm(x, {weight_C, bias_C, e.norm.epsilon}, kernels);
  std::vector<torch::Tensor> of{x, weight_C};
  if (bias_C.defined()) of.push_back(bias_C);
  std::vector<torch::Tensor> all = torch::autograd::grad(
      {both.same, both.normed}, of, {e.dsame.to(device, type), e.dnormed.to(device, type)});
  all.insert(all.begin(), both.normed);
  return all;
}

double relative_error(const torch::Tensor& found, const torch::Tensor& exact) {
  return (found.cpu().to(torch::kDouble) - exact).norm().item<double>() /
         exact.norm().item<double>();
}

void expect_the_formula(std::initializer_list<std::int64_t> widths, const RowModule* kernels,
                        torch::Device device) {
  for (const std::int64_t width : widths)
    for (const std::int64_t rows : {1, 3, device.is_cpu() && kernels != nullptr ? 20 : 150})
      for (const bool biased : {false, true}) {
        const Example e(rows, width, biased);
        const auto found = results(e, torch::kBFloat16, kernels, device);
        const auto exact = results(e, torch::kDouble);
        ASSERT_EQ(found.size(), exact.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          const bool sums = i > 1;  // gains' and biases' gradients stay fp32
          EXPECT_EQ(found[i].scalar_type(), sums ? torch::kFloat : torch::kBFloat16);
          EXPECT_LT(relative_error(found[i], exact[i]), sums ? 1e-5 : 4e-3)
              << cat(rows, " x ", width, " biased ", int(biased), " result ", i);
        }
      }
}

TEST(ForkNorm, IsTheFormulaWithBothGradients) {
  if (!has_avx512_bf16()) GTEST_SKIP() << "no bf16 instructions here";
  expect_the_formula({8, 16, 40, 64, 520}, nullptr, torch::kCPU);
}

TEST(ForkNorm, IsTheSameBitsForAnyThreadCount) {
  if (!has_avx512_bf16()) GTEST_SKIP() << "no bf16 instructions here";
  const Example e(1000, 72, true);
  std::vector<torch::Tensor> first;
  for (const int threads : {1, 2, 5}) {
    torch::set_num_threads(threads);
    const auto found = results(e, torch::kBFloat16);
    if (first.empty()) first = found;
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_TRUE(torch::equal(first[i], found[i])) << threads << " threads, result " << i;
  }
  torch::set_num_threads(1);
}

TEST(ForkNorm, WorksWithoutAGraphAndWithOneGradientOnly) {
  const Example e(5, 32, false);
  const torch::Tensor expected = results(e, torch::kBFloat16)[0];
  {
    const torch::NoGradGuard guard;
    EXPECT_TRUE(torch::equal(layer_norm(e.x, e.norm), expected.detach()));
    EXPECT_EQ(layer_norm(e.x.narrow(1, 0, 0), e.norm).numel(), 0);
  }
  const torch::Tensor x = e.x.clone().requires_grad_(true);
  const NormFork both = fork_norm(x, e.norm);
  const auto same = torch::autograd::grad({both.same}, {x}, {e.dsame}, true);
  EXPECT_TRUE(torch::equal(same[0], e.dsame));
  const auto normed = torch::autograd::grad({both.normed}, {x}, {e.dnormed});
  const Example other = [&] {
    Example changed = e;
    changed.dsame = torch::zeros_like(e.dsame);
    return changed;
  }();
  EXPECT_TRUE(torch::equal(normed[0], results(other, torch::kBFloat16)[1]));
}

// The host's kernels, counted.
struct Calls {
  int norms = 0, statistics = 0, gradients = 0, added = 0;
};
Calls calls;

RowModule counted_module() {
  RowModule module = host_row_module();
  module.norm = [](const DeviceNorm& a, void*) {
    ++calls.norms;
    calls.statistics += a.mean_N != nullptr;
    run_norm(a);
    return 0;
  };
  module.norm_gradient = [](const DeviceNormGradient& a, void*) {
    ++calls.gradients;
    calls.added += a.added_NC != nullptr;
    run_norm_gradient(a);
    return 0;
  };
  return module;
}

TEST(DeviceNorm, IsTheFormulaWithBothGradients) {
  const RowModule module = counted_module();
  expect_the_formula({8, 520, 1032}, &module, torch::kCPU);
  calls = {};
  results(Example(3, 520, true), torch::kBFloat16, &module);
  EXPECT_EQ(calls.norms, 1);
  EXPECT_EQ(calls.statistics, 1);
  EXPECT_EQ(calls.gradients, 1);
  EXPECT_EQ(calls.added, 1);
}

TEST(DeviceNorm, WorksWithoutAGraphAndWithOneGradientOnly) {
  const RowModule module = counted_module();
  const Example e(5, 24, false);
  const torch::Tensor expected = results(e, torch::kBFloat16, &module)[0].detach();
  calls = {};
  {
    const torch::NoGradGuard guard;
    EXPECT_TRUE(torch::equal(fork_norm(e.x, e.norm, &module).normed, expected));
    // Rows that do not follow one another.
    const torch::Tensor apart = torch::stack({e.x, e.x}, 2).select(2, 0);
    EXPECT_TRUE(torch::equal(fork_norm(apart, e.norm, &module).normed, expected));
    EXPECT_EQ(fork_norm(e.x.narrow(1, 0, 0), e.norm, &module).normed.numel(), 0);
  }
  EXPECT_EQ(calls.norms, 2);
  EXPECT_EQ(calls.statistics, 0);
  const torch::Tensor x = e.x.clone().requires_grad_(true);
  const NormFork both = fork_norm(x, e.norm, &module);
  const auto same = torch::autograd::grad({both.same}, {x}, {e.dsame}, true);
  EXPECT_TRUE(torch::equal(same[0], e.dsame));
  EXPECT_EQ(calls.gradients, 0);
  // From memory that begins between two boundaries of 16 bytes.
  const torch::Tensor shifted =
      torch::empty({e.x.numel() + 1}, e.x.options()).narrow(0, 1, e.x.numel()).view(e.x.sizes());
  shifted.copy_(e.dnormed);
  const auto normed = torch::autograd::grad({both.normed}, {x}, {shifted});
  EXPECT_EQ(calls.gradients, 1);
  EXPECT_EQ(calls.added, 0);
  Example other = e;
  other.dsame = torch::zeros_like(e.dsame);
  EXPECT_TRUE(torch::equal(normed[0], results(other, torch::kBFloat16, &module)[1]));
}

TEST(DeviceNorm, TakesOnlyWhatItsKernelsKnow) {
  const Example e(2, 24, true);
  EXPECT_TRUE(device_norm_takes(e.x, e.norm));
  EXPECT_FALSE(device_norm_takes(e.x.to(torch::kFloat), e.norm));
  EXPECT_FALSE(device_norm_takes(e.x.narrow(1, 0, 0), e.norm));
  const auto shifted = [](const torch::Tensor& x) {
    return torch::cat({x.flatten().narrow(0, 0, 1), x.flatten()})
        .narrow(0, 1, x.numel())
        .view(x.sizes());
  };
  EXPECT_FALSE(device_norm_takes(shifted(e.x), e.norm));
  const LayerNorm& norm = e.norm;
  EXPECT_FALSE(device_norm_takes(e.x, {shifted(norm.weight_C), norm.bias_C, 1e-5}));
  EXPECT_FALSE(device_norm_takes(e.x, {norm.weight_C, shifted(norm.bias_C), 1e-5}));
  EXPECT_FALSE(device_norm_takes(e.x, {norm.weight_C.to(torch::kBFloat16), {}, 1e-5}));
  EXPECT_FALSE(device_norm_takes(e.x, {norm.weight_C.narrow(0, 0, 16), {}, 1e-5}));
  EXPECT_FALSE(device_norm_takes(e.x, {torch::ones({48}).slice(0, 0, 48, 2), {}, 1e-5}));
  const Example odd(2, 12, false);
  EXPECT_FALSE(device_norm_takes(odd.x, odd.norm));
  // Others' ways stand in.
  const RowModule module = counted_module();
  calls = {};
  for (const Example& one : {odd, Example(2, 8200, false)}) {
    const torch::NoGradGuard guard;
    EXPECT_TRUE(torch::equal(fork_norm(one.x, one.norm, &module).normed,
                             fork_norm(one.x, one.norm, nullptr).normed));
  }
  EXPECT_EQ(calls.norms, 0);
}

// Each with one result that is changed behind the kernel's back.
TEST(DeviceNorm, AKernelThatIsWrongIsFoundAtItsFirstUse) {
  EXPECT_EQ(fault_of_device_norm({&host_row_module(), nullptr}, torch::kCPU, 8), "");
  RowModule wrong = host_row_module();
  const auto fault = [&] { return fault_of_device_norm({&wrong, nullptr}, torch::kCPU, 8); };
  wrong.norm = [](const DeviceNorm& a, void*) {
    run_norm(a);
    a.y_NC[8 * a.rows - 1] ^= 2;
    return 0;
  };
  EXPECT_KEYWORD(fault(), "the norm");
  wrong.norm = [](const DeviceNorm& a, void*) {
    run_norm(a);
    if (a.mean_N != nullptr) a.mean_N[0] += 0.1F;
    return 0;
  };
  EXPECT_KEYWORD(fault(), "gradient of");
  wrong = host_row_module();
  wrong.norm_gradient = [](const DeviceNormGradient& a, void*) {
    run_norm_gradient(a);
    a.dx_NC[8 * 60] = 0x7fc0;
    return 0;
  };
  EXPECT_KEYWORD(fault(), "gradient of rows");
  wrong.norm_gradient = [](const DeviceNormGradient& a, void*) {
    run_norm_gradient(a);
    a.sums_P2C[16 * 2 + 7] += 0.1F;
    return 0;
  };
  EXPECT_KEYWORD(fault(), "gradient of gains");
  wrong.norm_gradient = [](const DeviceNormGradient& a, void*) {
    run_norm_gradient(a);
    a.sums_P2C[16 + 8] += 0.1F;
    return 0;
  };
  EXPECT_KEYWORD(fault(), "gradient of biases");
  wrong.norm_gradient = [](const DeviceNormGradient& a, void*) {
    DeviceNormGradient less = a;
    less.rows = a.rows - 1;  // the last is left out
    run_norm_gradient(less);
    return 0;
  };
  EXPECT_KEYWORD(fault(), "gradient of");
}

// Widths of their own: a kernel is asked about once in a process.
TEST(DeviceNorm, AKernelThatIsWrongOrCannotBeQueuedIsSetAside) {
  RowModule broken = counted_module();
  broken.norm_gradient = [](const DeviceNormGradient& a, void*) {
    ++calls.gradients;
    run_norm_gradient(a);
    a.dx_NC[0] ^= 0x40;
    return 0;
  };
  RowModule lost = counted_module();
  lost.norm = [](const DeviceNorm&, void*) {
    ++calls.norms;
    return 7;
  };
  lost.error_text = [](int code) { return code == 7 ? "no such launch" : "another"; };
  for (const auto& [module, width] : {std::pair(broken, 32), {lost, 48}}) {
    calls = {};
    const Example e(4, width, true);
    testing::internal::CaptureStderr();
    const auto found = results(e, torch::kBFloat16, &module);
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find("set aside"), std::string::npos) << log;
    EXPECT_NE(log.find(width == 32 ? "gradient of rows" : "no such launch"), std::string::npos);
    const Calls at_first_use = calls;
    EXPECT_GT(at_first_use.norms, 0);
    const auto again = results(e, torch::kBFloat16, &module), other = results(e, torch::kBFloat16);
    EXPECT_EQ(calls.norms, at_first_use.norms);
    EXPECT_EQ(calls.gradients, at_first_use.gradients);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(torch::equal(found[i], other[i]));
      EXPECT_TRUE(torch::equal(again[i], other[i]));
    }
  }
}

// Also against LibTorch's own norm of the device, from which bf16 alone separates it.
TEST(LayerNormCuda, IsTheFormulaAndTheSameBitsTwice) {
  if (!open_cuda_library().usable) GTEST_SKIP() << open_cuda_library().reason;
  const RowModule* const module = row_kernels().module;
  ASSERT_NE(module, nullptr) << row_kernels().reason;
  const torch::Device device(torch::kCUDA, 0);
  const RowQueue queue{module, current_stream(device)};
  for (const std::int64_t width : {8, 24, 512, 768, 776, 1024, 2048, 4096, 8192})
    EXPECT_EQ(fault_of_device_norm(queue, device, width), "") << width;
  expect_the_formula({8, 24, 768, 1032, 2048, 8192}, module, device);
  const Example e(5'000, 768, true);
  const auto one = results(e, torch::kBFloat16, module, device);
  const auto other = results(e, torch::kBFloat16, module, device);
  const auto libtorchs = results(e, torch::kBFloat16, nullptr, device);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_TRUE(torch::equal(one[i], other[i])) << i;
    EXPECT_LT(relative_error(one[i], libtorchs[i].cpu().to(torch::kDouble)), 1e-2) << i;
  }
}

}  // namespace
}  // namespace alibi
