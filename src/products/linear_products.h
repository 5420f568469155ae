// The three products of a linear layer y = x w^T + b, for as long as its weight stays as it is.
//
// On a CPU with bf16 instructions, bf16 activations meet a weight that is packed once
// (kernels/packed_product.h) and weight gradients are summed in fp32; everything else is LibTorch's
// operators on a copy of the weight in the activations' type.
#pragma once

#include <torch/torch.h>

namespace alibi {

// N rows, I inputs, O outputs.
class LinearProducts : public torch::CustomClassHolder {
 public:
  enum class Kind { kPacked, kLibtorch };

  // Packed where the processor and the shape allow it: fp32 weights, 64 divides I, O even.
  static Kind best_kind(const torch::Tensor& weight_OI, torch::ScalarType type);

  // Reads the weight now. `type` is that of x; without `with_gradients` only forward() works.
  LinearProducts(const torch::Tensor& weight_OI, torch::ScalarType type, bool with_gradients,
                 Kind kind);

  // Whether it still stands for this weight and use.
  bool stands_for(const torch::Tensor& weight_OI, torch::ScalarType type,
                  bool with_gradients) const;

  // x (..., I) -> (..., O) in x's type. bias_O may be undefined.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& bias_O) const;
  // The same and its GELU. kPacked only.
  struct WithGelu {
    torch::Tensor before, after;
  };
  WithGelu forward_gelu(const torch::Tensor& x, const torch::Tensor& bias_O) const;
  // dy (..., O) -> dx (..., I).
  torch::Tensor input_gradient(const torch::Tensor& dy) const;
  // dx * gelu'(before), where x = gelu(before). kPacked only.
  torch::Tensor input_gradient_gelu(const torch::Tensor& dy, const torch::Tensor& before) const;
  // dw = dy^T x, or dw += with `add`; dw is fp32 (fp64 where the weight is), contiguous.
  void weight_gradient(const torch::Tensor& dy, const torch::Tensor& x, const torch::Tensor& dw_OI,
                       bool add) const;

  // db of y = x w^T + b, in fp32.
  static torch::Tensor bias_gradient(const torch::Tensor& dy);

 private:
  torch::ScalarType type_;
  bool with_gradients_;
  Kind kind_;
  std::int64_t outputs_, inputs_;
  const void* place_;                 // of the weight
  std::int64_t version_ = 0;          // LibTorch's count of its changes
  torch::Tensor weight_OI_;           // kLibtorch: in `type_`
  torch::Tensor forward_, backward_;  // kPacked: w^T and w
};

using SharedProducts = c10::intrusive_ptr<LinearProducts>;

}  // namespace alibi
