#include "model/dropout.h"

#include <ATen/Parallel.h>

#include "device/libtorch.h"

namespace alibi {

torch::Tensor dropout(const torch::Tensor& x, double p, RandomKey key) {
  if (p == 0) return x;
  torch::Tensor mask = torch::empty(x.sizes(), torch::kFloat);
  const std::int64_t width = x.size(-1);
  float* data = mask.data_ptr<float>();
  at::parallel_for(0, x.numel() / width, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      fill_dropout(key, static_cast<std::uint64_t>(row), p,
                   {data + row * width, static_cast<std::size_t>(width)});
    }
  });
  return x * mask.to(x.options());
}

}  // namespace alibi
