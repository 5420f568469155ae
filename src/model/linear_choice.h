// Which way of computing linear layers is faster here (runtime.linear_layers): products on packed
// weights, with sums and GELU within, or LibTorch's operators. It depends on the processor (packed
// products win with AMX, less surely without) and on the shapes.
#pragma once

#include <optional>
#include <string>

#include "config/config.h"
#include "device/tensor.h"

namespace alibi {

struct LinearTimes {
  double packed, libtorch;  // seconds
  // Packed unless LibTorch is clearly faster: what is close would fall now this way, now that, and
  // with it the last bits of a run.
  LinearLayers faster() const;
  std::string text() const;  // for people
};

// Linear layers of one block of the model, forward and backward, on `rows` positions in bf16: the
// medians of some turns, after a call of each. Nothing where they cannot be packed, and where the
// work is too little to be told from noise.
std::optional<LinearTimes> time_linear_layers(const ModelConfig& model, torch::ScalarType type,
                                              std::int64_t rows);

// Fixes runtime.linear_layers by such a measurement and returns the times as text; leaves it open,
// and returns "", where there is nothing to choose. `runtime.precision` is resolved.
std::string settle_linear_layers(RuntimeConfig& runtime, const ModelConfig& model,
                                 torch::Device device, std::int64_t rows);

}  // namespace alibi
