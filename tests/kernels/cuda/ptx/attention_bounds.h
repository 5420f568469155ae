// The formula of attention and of its gradients in fp64, and for each number how far bf16's
// rounding can take a kernel from it.
//
// bf16 keeps 8 binary digits: u = 2^-8 is a rounding's relative error. A kernel rounds the weights
// P and what it writes, and in the backward dS = P (dO V^T - delta); all else is fp32. So with P >=
// 0 and sums over the keys or queries of a number:
//
//   |O'  - O|  <= u (sum P |V| + |O|)
//   |dV' - dV| <= u (sum P |dO| + |dV|)
//   |dS' - dS| <= u |dS| + P d,  d = sum |O' - O| |dO|, as delta is made of the rounded output
//   |dQ' - dQ| <= scale sum |dS' - dS| |K| + u |dQ|, and dK alike
//
// Gradients of biases are sums of dS before it is rounded: of dS of a distance within sum P d, of
// terms alike.
//
// lse is not rounded: fp32's sums and a device's log2 are within 2e-5.
// One part in fifty is added to u for fp32 and for what is of second order.
#pragma once

#include <string>
#include <vector>

#include "kernels/cuda/device_example.h"

namespace alibi {

struct BoundedNumbers {
  explicit BoundedNumbers(std::size_t count) : values(count), bounds(count) {}
  std::vector<double> values, bounds;
};

// In the order of a DeviceTensor.
struct BoundedAttention {
  explicit BoundedAttention(const DeviceExample& example);
  BoundedNumbers output, q_gradient, k_gradient, v_gradient, lse;
  BoundedNumbers distances, terms;  // gradients of biases, (H, S) and (B, H, S)

  // The largest difference in units of its bound: at most 1 is right. NaN counts as infinite.
  double worst_forward(const DeviceExample& found) const;
  double worst_backward(const DeviceExample& found) const;
};

}  // namespace alibi
