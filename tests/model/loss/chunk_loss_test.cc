// What is queued on a device for a chunk of logits, with its kernels run on the host.
#include "model/loss/chunk_loss.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/cuda_library.h"
#include "device/device.h"
#include "device/libtorch.h"
#include "kernels/cuda/host_row_module.h"
#include "support/error_text.h"

namespace alibi {
namespace {

struct Chunk {
  torch::Tensor logits_RV, target_R1;
};

Chunk chunk(std::int64_t rows, std::int64_t vocabulary) {
  torch::manual_seed(5);
  return {(3 * torch::randn({rows, vocabulary})).to(torch::kBFloat16),
          torch::randint(0, vocabulary, {rows, 1}, torch::kLong)};
}

double error(const torch::Tensor& found, const torch::Tensor& expected) {
  const torch::Tensor whole = expected.to(torch::kDouble).cpu();
  return ((found.to(torch::kDouble).cpu() - whole).abs().max() / whole.abs().max()).item<double>();
}

using ChunkFunction = ChunkLoss (*)(const torch::Tensor&, const torch::Tensor&, const ChunkScale&,
                                    bool);

void expect_the_formula(ChunkFunction chunk_of, torch::Device device) {
  for (const std::int64_t vocabulary : {1, 333, 8'211}) {
    for (const double z : {0.0, 0.1}) {
      for (const bool left_out : {false, true}) {
        const Chunk c = chunk(9, vocabulary);
        if (left_out) c.target_R1.slice(0, 1, 9, 3).fill_(-1);
        const ChunkScale scale{1.0 / 37, z, left_out};
        const ChunkLoss expected =
            plain_chunk(c.logits_RV.to(torch::kDouble), c.target_R1, scale, true);
        for (const bool needs_gradient : {false, true}) {
          // Rows apart, as a device's products leave them.
          const torch::Tensor logits_RV =
              torch::empty({9, vocabulary + 5}, c.logits_RV.options().device(device))
                  .narrow(1, 0, vocabulary)
                  .copy_(c.logits_RV);
          const ChunkLoss found =
              chunk_of(logits_RV, c.target_R1.to(device), scale, needs_gradient);
          // A vocabulary of one has a loss of 0.
          EXPECT_NEAR(found.sum.item<double>(), expected.sum.item<double>(),
                      1e-5 * (1 + expected.sum.item<double>()));
          EXPECT_EQ(found.square_sum.defined(), z > 0);
          if (z > 0) {
            EXPECT_LT(error(found.square_sum, expected.square_sum), 1e-5);
          }
          EXPECT_EQ(found.gradient_RV.defined(), needs_gradient);
          if (!needs_gradient) {
            EXPECT_TRUE(torch::equal(logits_RV.cpu(), c.logits_RV));
          } else if (vocabulary > 1 || z > 0) {
            EXPECT_EQ(found.gradient_RV.scalar_type(), torch::kBFloat16);
            EXPECT_LT(error(found.gradient_RV, expected.gradient_RV), 0x1.1p-8);
          }
        }
      }
    }
  }
}

// Seen failing with a gradient that is not scaled, and with the sums over rows swapped.
TEST(ChunkLoss, OfADevicesKernelIsTheFormula) {
  expect_the_formula(
      [](const torch::Tensor& logits_RV, const torch::Tensor& target_R1, const ChunkScale& scale,
         bool needs_gradient) {
        return device_chunk({&host_row_module(), nullptr}, logits_RV, target_R1, scale,
                            needs_gradient);
      },
      torch::kCPU);
}

TEST(ChunkLoss, AKernelThatCannotBeQueuedIsNamed) {
  RowModule broken = host_row_module();
  broken.cross_entropy = [](const DeviceCrossEntropy&, void*) { return 7; };
  broken.error_text = [](int code) { return code == 7 ? "no such launch" : "another"; };
  const Chunk c = chunk(2, 9);
  const auto message = [&] {
    try {
      device_chunk({&broken, nullptr}, c.logits_RV, c.target_R1, {}, true);
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_ERROR_AT(message(), "CUDA device", "such", kCudaModuleFile);
  broken.is_own = [](int) { return false; };
  EXPECT_KEYWORD(message(), "CUDA error: no such launch");
}

// Each with one result that is changed behind the kernel's back.
TEST(ChunkLoss, AKernelThatIsWrongIsFoundAtItsFirstUse) {
  EXPECT_EQ(fault_of_device_chunk({&host_row_module(), nullptr}, torch::kCPU), "");
  RowModule wrong = host_row_module();
  const auto fault = [&](auto cross_entropy) {
    wrong.cross_entropy = cross_entropy;
    return fault_of_device_chunk({&wrong, nullptr}, torch::kCPU);
  };
  EXPECT_KEYWORD(fault([](const DeviceCrossEntropy& a, void*) {
                   run_cross_entropy(a);
                   a.losses_R[1] += 0.01F;
                   return 0;
                 }),
                 "the loss");
  EXPECT_KEYWORD(fault([](const DeviceCrossEntropy& a, void*) {
                   run_cross_entropy(a);
                   a.log_sums_R[4] = NAN;
                   return 0;
                 }),
                 "z-loss");
  EXPECT_KEYWORD(fault([](const DeviceCrossEntropy& a, void*) {
                   run_cross_entropy(a);
                   a.logits_RV[2 * a.pitch] = 0x3f80;  // of the row left out
                   return 0;
                 }),
                 "gradient");
}

TEST(ChunkLossCuda, IsTheFormula) {
  if (!open_cuda_library().usable) GTEST_SKIP() << open_cuda_library().reason;
  ASSERT_NE(row_kernels().module, nullptr) << row_kernels().reason;
  const RowQueue queue{row_kernels().module, current_stream(torch::kCUDA)};
  EXPECT_EQ(fault_of_device_chunk(queue, torch::kCUDA), "");
  expect_the_formula(chunk_loss, torch::kCUDA);
  const auto bf16 = torch::TensorOptions(torch::kBFloat16);
  EXPECT_EQ(rows_at_once(torch::empty({1, 1}, bf16.device(torch::kCUDA)), 7), 42);
  EXPECT_EQ(rows_at_once(torch::empty({1, 1}, torch::kCUDA), 7), 7);
  EXPECT_EQ(rows_at_once(torch::empty({1, 1}, bf16), 7), 7);
}

}  // namespace
}  // namespace alibi
