// Named torch tensors to and from safetensors files. Nothing here can execute what a file holds.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "device/tensor.h"
#include "formats/safetensors.h"

namespace alibi {

using Tensors = std::map<std::string, torch::Tensor>;

// Writes and fsyncs `path`, each tensor in its own dtype. A contiguous CPU tensor is written from
// where it lies; others pass through one temporary of their size at a time. Throws Error for a
// dtype that safetensors has no name for.
SafetensorsDigests save_tensors(const std::filesystem::path& path, const Tensors& tensors);

// The name of the first tensor that holds NaN or infinity; nothing where all numbers are finite.
std::optional<std::string> first_not_finite(const Tensors& tensors);

// Fresh CPU tensors, copied out of the file. Throws Error naming file and tensor.
Tensors load_tensors(const std::filesystem::path& path);

}  // namespace alibi
