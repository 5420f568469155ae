#include "checkpoint/tensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/printable.h"
#include "base/strings.h"
#include "device/libtorch.h"

namespace alibi {
namespace {

constexpr std::array<std::pair<torch::ScalarType, const char*>, 10> kDtypes{
    {{torch::kFloat64, "F64"},
     {torch::kFloat32, "F32"},
     {torch::kFloat16, "F16"},
     {torch::kBFloat16, "BF16"},
     {torch::kInt64, "I64"},
     {torch::kInt32, "I32"},
     {torch::kInt16, "I16"},
     {torch::kInt8, "I8"},
     {torch::kUInt8, "U8"},
     {torch::kBool, "BOOL"}}};

std::string tensor_place(const std::filesystem::path& path, const std::string& name) {
  return cat(path.string(), ": tensor ", shown(name));
}

std::string dtype_name(const torch::Tensor& tensor, const std::string& place) {
  for (const auto& [dtype, name] : kDtypes) {
    if (tensor.scalar_type() == dtype) return name;
  }
  throw Error(place, cat("has dtype ", tensor.scalar_type(), ", which safetensors cannot hold"));
}

torch::Tensor load_tensor(const TensorView& view, const std::string& place) {
  const auto* dtype = std::find_if(kDtypes.begin(), kDtypes.end(),
                                   [&](const auto& entry) { return entry.second == view.dtype; });
  ensure(dtype != kDtypes.end(), "a checked file holds known dtypes only");
  torch::Tensor tensor = torch::empty(view.shape, torch::TensorOptions().dtype(dtype->first));
  ensure(tensor.nbytes() == view.bytes.size(), "a checked tensor's bytes match its shape");
  // Any other byte in a bool is undefined behaviour for whoever reads it.
  if (dtype->first == torch::kBool && std::any_of(view.bytes.begin(), view.bytes.end(),
                                                  [](std::byte b) { return b > std::byte{1}; })) {
    throw Error(place, "holds a truth value that is neither 0 nor 1");
  }
  if (!view.bytes.empty()) {
    std::memcpy(tensor.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
  }
  return tensor;
}

// Hugging Face's loaders ask for this key.
const TensorMetadata kMetadata = {{"format", "pt"}};

TensorViews views_of(const TensorShapes& shapes) {
  TensorViews views;
  for (const auto& [name, shape] : shapes) views.emplace(name, TensorView{"F32", shape, {}});
  return views;
}

}  // namespace

SafetensorsDigests save_tensors(const std::filesystem::path& path, const Tensors& tensors) {
  TensorViews views;
  for (const auto& [name, tensor] : tensors) {
    const std::string place = tensor_place(path, name);
    ensure(tensor.defined(), "a tensor to save is defined");
    views.emplace(name, TensorView{dtype_name(tensor, place), tensor.sizes().vec(), {}});
  }
  torch::Tensor current;  // keeps a temporary alive while it is written
  const auto source = [&](const std::string& name) {
    current = tensors.at(name).detach().to(torch::kCPU).contiguous();
    return std::span(static_cast<const std::byte*>(current.const_data_ptr()), current.nbytes());
  };
  return write_safetensors(path, views, kMetadata, source);
}

void begin_tensors(const std::filesystem::path& path, const TensorShapes& shapes) {
  begin_safetensors(path, views_of(shapes), kMetadata);
}

void write_slices(const std::filesystem::path& path, const TensorShapes& shapes,
                  const std::vector<TensorSlice>& slices) {
  const auto offsets = tensor_offsets(views_of(shapes), kMetadata);
  OutputFile file(path, OutputFile::Mode::kUpdate);
  for (const TensorSlice& slice : slices) {
    const torch::Tensor values = slice.values.detach().to(torch::kCPU).contiguous();
    file.overwrite(offsets.at(slice.name) + sizeof(float) * static_cast<std::uint64_t>(slice.first),
                   {static_cast<const std::byte*>(values.const_data_ptr()), values.nbytes()});
  }
  file.sync();
  file.close();
}

namespace {

// All exponent bits set is infinity or NaN. No memory is taken: a save must not fail for want of
// it.
bool is_finite(std::span<const float> numbers) {
  std::uint32_t found = 0;
  for (const float number : numbers)
    found |= (std::bit_cast<std::uint32_t>(number) & 0x7F800000U) == 0x7F800000U ? 1U : 0U;
  return found == 0;
}

bool is_finite(const torch::Tensor& tensor) {
  if (!tensor.is_floating_point()) return true;
  if (tensor.is_cpu() && tensor.scalar_type() == torch::kFloat && tensor.is_contiguous())
    return is_finite({tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())});
  const torch::NoGradGuard guard;
  return torch::isfinite(tensor).all().item<bool>();
}

}  // namespace

std::optional<std::string> first_not_finite(const Tensors& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (!is_finite(tensor)) return name;
  }
  return std::nullopt;
}

Tensors load_tensors(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  Tensors tensors;
  for (const auto& [name, view] : file.tensors()) {
    tensors.emplace(name, load_tensor(view, tensor_place(path, name)));
  }
  return tensors;
}

}  // namespace alibi
