// Which way of computing linear layers is faster here (runtime.linear_layers): products on packed
// weights, with sums and GELU within, or LibTorch's operators. It depends on the processor (packed
// products win with AMX, less surely without) and on the shapes.
#pragma once

#include <functional>
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

// Medians of 3 to 25 turns, as many as half a second holds, after one call of each.
LinearTimes time_in_turns(const std::function<void()>& packed,
                          const std::function<void()>& libtorch);

// Linear layers of the model, forward and backward, on `rows` positions, or on as many as tell how
// the two compare, in bf16: a block's, as often as there are blocks, and the output layer's.
// Nothing where they cannot be packed, and where the work is too little to be told from noise.
std::optional<LinearTimes> time_linear_layers(const ModelConfig& model, std::int64_t vocabulary,
                                              torch::ScalarType type, std::int64_t rows);

// Fixes runtime.linear_layers by such a measurement and returns the times as text; leaves it open,
// and returns "", where there is nothing to choose. `runtime.precision` is resolved.
std::string settle_linear_layers(RuntimeConfig& runtime, const ModelConfig& model,
                                 std::int64_t vocabulary, torch::Device device, std::int64_t rows);

}  // namespace alibi
