#include "model/dropout_mask.h"

#include <ATen/Parallel.h>

#include <array>

#include "base/dropout_rule.h"
#include "base/strings.h"
#include "device/expect_queued.h"
#include "device/libtorch.h"
#include "device/row_queue.h"

namespace alibi {
namespace {

constexpr std::int64_t kWord = 0xffffffff;

// A product of 32-bit words in the 64 bits of an int64, which wraps around as an unsigned one does;
// the shift of a negative one is put right by the mask.
struct Product {
  explicit Product(const torch::Tensor& word, std::int64_t factor) {
    const torch::Tensor whole = word * factor;
    high = whole.bitwise_right_shift(32).bitwise_and(kWord);
    low = whole.bitwise_and(kWord);
  }
  torch::Tensor high, low;
};

// Philox4x32-10 as in base/random.cc; words are int64 of 0 .. 2^32 - 1. Shapes broadcast.
std::array<torch::Tensor, 4> philox(RandomKey key, const torch::Tensor& counter_low,
                                    const torch::Tensor& counter_high) {
  const auto words = [](const torch::Tensor& counter) {
    return std::array{counter.bitwise_and(kWord),
                      counter.bitwise_right_shift(32).bitwise_and(kWord)};
  };
  const auto low = words(counter_low), high = words(counter_high);
  std::array<torch::Tensor, 4> c = {low[0], low[1], high[0], high[1]};
  auto k0 = static_cast<std::int64_t>(key.value & kWord);
  auto k1 = static_cast<std::int64_t>(key.value >> 32);
  for (int round = 0; round < 10; ++round) {
    const Product first(c[0], 0xd2511f53), second(c[2], 0xcd9e8d57);
    c = {second.high.bitwise_xor(c[1]).bitwise_xor(k0), second.low,
         first.high.bitwise_xor(c[3]).bitwise_xor(k1), first.low};
    k0 = (k0 + 0x9e3779b9) & kWord;
    k1 = (k1 + 0xbb67ae85) & kWord;
  }
  return c;
}

}  // namespace

torch::Tensor dropout_mask_by_operators(RandomKey key, const torch::Tensor& rows_N,
                                        std::int64_t width, double p) {
  const DropoutRule rule(p);
  const torch::Tensor fours = torch::arange((width + 3) / 4, rows_N.options());
  const auto words = philox(key, fours.unsqueeze(0), rows_N.unsqueeze(1));
  std::vector<torch::Tensor> kept;
  for (const torch::Tensor& word : words)
    kept.push_back(word.ge(static_cast<std::int64_t>(rule.dropped_below)));
  const torch::Tensor kept_NW = torch::stack(kept, 2).flatten(1).narrow(1, 0, width);
  return kept_NW.to(torch::kFloat).mul_(rule.kept);
}

torch::Tensor device_dropout_mask(const RowQueue& queue, RandomKey key, const torch::Tensor& rows_N,
                                  std::int64_t width, double p) {
  const DropoutRule rule(p);
  const torch::Tensor mask_NW =
      torch::empty({rows_N.numel(), width}, rows_N.options().dtype(torch::kFloat));
  if (mask_NW.numel() == 0) return mask_NW;
  const torch::Tensor counters_N = rows_N.contiguous();
  const DeviceDropout a{.rows = static_cast<int>(rows_N.numel()),
                        .width = static_cast<int>(width),
                        .key_low = static_cast<std::uint32_t>(key.value),
                        .key_high = static_cast<std::uint32_t>(key.value >> 32),
                        .dropped_below = rule.dropped_below,
                        .kept = rule.kept,
                        .rows_N = counters_N.data_ptr<std::int64_t>(),
                        .mask_NW = mask_NW.data_ptr<float>()};
  expect_queued(*queue.module, queue.module->dropout(a, queue.stream), "the dropout kernel",
                without_kernels());
  return mask_NW;
}

// More than one round of a block's threads, a tail, and counters of more than 32 bits.
std::string fault_of_device_dropout(const RowQueue& queue, torch::Device device) {
  constexpr std::int64_t kWidth = 1030;
  const RandomKey key = RandomKey{3}.with("the first use");
  const torch::Tensor rows_N = torch::tensor({0L, 1L, 77L, (1L << 33) + 5}, torch::kLong);
  const torch::Tensor expected = dropout_mask(key, rows_N, kWidth, 0.3);
  const torch::Tensor found = device_dropout_mask(queue, key, rows_N.to(device), kWidth, 0.3).cpu();
  const torch::Tensor differs = (found != expected).nonzero();
  if (differs.size(0) == 0) return "";
  const std::int64_t row = differs[0][0].item<std::int64_t>(),
                     column = differs[0][1].item<std::int64_t>();
  return cat("the mask at row ", row, ", column ", column, " is ", found[row][column].item<float>(),
             ", expected ", expected[row][column].item<float>());
}

torch::Tensor dropout_mask(RandomKey key, const torch::Tensor& rows_N, std::int64_t width,
                           double p) {
  const torch::Device device = rows_N.device();
  const auto fault = [&](const RowQueue& queue) { return fault_of_device_dropout(queue, device); };
  if (const auto queue =
          checked_row_queue(row_module_of(device), device, "the dropout kernel", fault))
    return device_dropout_mask(*queue, key, rows_N, width, p);
  if (!device.is_cpu()) return dropout_mask_by_operators(key, rows_N, width, p);
  torch::Tensor mask = torch::empty({rows_N.numel(), width}, torch::kFloat);
  float* const data = mask.data_ptr<float>();
  const std::int64_t* const rows = rows_N.data_ptr<std::int64_t>();
  at::parallel_for(0, rows_N.numel(), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      fill_dropout(key, static_cast<std::uint64_t>(rows[n]), p,
                   {data + n * width, static_cast<std::size_t>(width)});
    }
  });
  return mask;
}

}  // namespace alibi
