// Named torch tensors to and from safetensors files. Nothing here can execute what a file holds.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/tensor.h"
#include "formats/safetensors.h"

namespace alibi {

using Tensors = std::map<std::string, torch::Tensor>;

// Writes and fsyncs `path`, each tensor in its own dtype. A contiguous CPU tensor is written from
// where it lies; others pass through one temporary of their size at a time. Throws Error for a
// dtype that safetensors has no name for.
SafetensorsDigests save_tensors(const std::filesystem::path& path, const Tensors& tensors);

// For several processes that write one file of fp32 tensors: one begins it, then each writes and
// fsyncs what it has.
using TensorShapes = std::map<std::string, std::vector<std::int64_t>>;
struct TensorSlice {
  std::string name;
  std::int64_t first = 0;  // element of the flattened tensor
  torch::Tensor values;
};
void begin_tensors(const std::filesystem::path& path, const TensorShapes& shapes);
void write_slices(const std::filesystem::path& path, const TensorShapes& shapes,
                  const std::vector<TensorSlice>& slices);

// The name of the first tensor that holds NaN or infinity; nothing where all numbers are finite.
std::optional<std::string> first_not_finite(const Tensors& tensors);

// Fresh CPU tensors, copied out of the file. Throws Error naming file and tensor.
Tensors load_tensors(const std::filesystem::path& path);

}  // namespace alibi
