#include "model/dropout_mask.h"

#include <ATen/Parallel.h>

#include <array>

#include "base/error.h"
#include "device/libtorch.h"

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
  ensure(p >= 0 && p < 1, "a dropout probability lies in [0, 1)");
  const torch::Tensor fours = torch::arange((width + 3) / 4, rows_N.options());
  const auto words = philox(key, fours.unsqueeze(0), rows_N.unsqueeze(1));
  std::vector<torch::Tensor> kept;
  for (const torch::Tensor& word : words)
    kept.push_back(word.ge(static_cast<std::int64_t>(p * 0x1p32)));
  const torch::Tensor kept_NW = torch::stack(kept, 2).flatten(1).narrow(1, 0, width);
  return kept_NW.to(torch::kFloat).mul_(static_cast<float>(1.0 / (1.0 - p)));
}

torch::Tensor dropout_mask(RandomKey key, const torch::Tensor& rows_N, std::int64_t width,
                           double p) {
  if (!rows_N.is_cpu()) return dropout_mask_by_operators(key, rows_N, width, p);
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
