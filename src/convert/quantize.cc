#include "convert/quantize.h"

#include <c10/util/Half.h>
#include <c10/util/TypeCast.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "device/libtorch.h"

namespace alibi {
namespace {

constexpr std::int64_t kBlock = 32;
constexpr std::size_t kBlockBytes = 2 + kBlock;

std::vector<std::byte> bytes_of(const torch::Tensor& tensor) {
  std::vector<std::byte> bytes(tensor.nbytes());
  std::memcpy(bytes.data(), tensor.const_data_ptr(), bytes.size());
  return bytes;
}

void quantize_block(const float* values, std::byte* out) {
  float largest = 0;
  for (std::int64_t i = 0; i < kBlock; ++i) largest = std::max(largest, std::abs(values[i]));
  const float step = largest / 127;
  const auto stored = c10::convert<c10::Half>(step);
  std::memcpy(out, &stored.x, 2);
  for (std::int64_t i = 0; i < kBlock; ++i) {
    const float steps = step > 0 ? std::round(values[i] / step) : 0;
    out[2 + i] = static_cast<std::byte>(static_cast<std::int8_t>(steps));
  }
}

torch::Tensor as_type(const GgufTensor& tensor, torch::ScalarType type) {
  torch::Tensor read = torch::empty(tensor.shape, torch::TensorOptions(type));
  ensure(read.nbytes() == tensor.bytes.size(), "a checked tensor's bytes match its shape");
  if (!tensor.bytes.empty())
    std::memcpy(read.mutable_data_ptr(), tensor.bytes.data(), tensor.bytes.size());
  return read.to(torch::kFloat);
}

torch::Tensor from_blocks(const GgufTensor& tensor) {
  torch::Tensor read = torch::empty(tensor.shape, torch::TensorOptions(torch::kFloat));
  auto* out = read.mutable_data_ptr<float>();
  const std::byte* block = tensor.bytes.data();
  for (std::int64_t at = 0; at < read.numel(); at += kBlock, block += kBlockBytes) {
    c10::Half step;
    std::memcpy(&step.x, block, 2);
    for (std::int64_t i = 0; i < kBlock; ++i)
      out[at + i] =
          static_cast<float>(step) * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
  }
  return read;
}

}  // namespace

std::vector<std::byte> quantized(const torch::Tensor& fp32, GgufElement element) {
  const torch::Tensor values = fp32.to(torch::kFloat).contiguous();
  if (element == GgufElement::kF32) return bytes_of(values);
  if (element == GgufElement::kF16) return bytes_of(values.to(torch::kHalf));
  if (element == GgufElement::kBf16) return bytes_of(values.to(torch::kBFloat16));
  ensure(values.size(-1) % kBlock == 0, "a row is whole blocks");
  std::vector<std::byte> bytes(static_cast<std::size_t>(values.numel() / kBlock) * kBlockBytes);
  const auto* from = values.const_data_ptr<float>();
  for (std::int64_t block = 0; block < values.numel() / kBlock; ++block)
    quantize_block(from + block * kBlock,
                   bytes.data() + static_cast<std::size_t>(block) * kBlockBytes);
  return bytes;
}

torch::Tensor dequantized(const GgufTensor& tensor) {
  switch (tensor.element) {
    case GgufElement::kF32:
      return as_type(tensor, torch::kFloat);
    case GgufElement::kF16:
      return as_type(tensor, torch::kHalf);
    case GgufElement::kBf16:
      return as_type(tensor, torch::kBFloat16);
    case GgufElement::kQ8:
      return from_blocks(tensor);
  }
  ensure(false, "an element type of ours");
  return {};
}

}  // namespace alibi
