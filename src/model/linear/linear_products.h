// The three products of a linear layer y = x w^T + b, for as long as its weight stays as it is.
//
// On a CPU with bf16 instructions, bf16 activations meet a weight that is packed once
// (kernels/packed_product.h); everything else is LibTorch's operators on a copy of the weight in
// the activations' type. Weight gradients are summed in fp32, but for those of bf16 by LibTorch on
// a CPU, which are rounded to bf16 once.
#pragma once

#include "device/libtorch.h"
#include "kernels/packed_product.h"

namespace alibi {

// A packed product in work items, for whoever spreads them.
class ProductItems {
 public:
  explicit ProductItems(const PackedProduct& product);
  std::int64_t count() const { return row_blocks_ * shares_; }
  void run(std::int64_t i, void* scratch) const;  // product_scratch_bytes()

 private:
  PackedProduct product_;
  std::int64_t block_, row_blocks_, share_, shares_;
};

// N rows, I inputs, O outputs.
class LinearProducts : public torch::CustomClassHolder {
 public:
  enum class Kind { kPacked, kLibtorch };

  // Packed where the processor and the shape allow it: fp32 weights, 64 divides I, O even.
  static Kind best_kind(const torch::Tensor& weight_OI, torch::ScalarType type);

  // Reads the weight now. `type` is that of x.
  LinearProducts(const torch::Tensor& weight_OI, torch::ScalarType type, Kind kind);

  // Whether it was made of this weight as it is now, for this type.
  bool matches(const torch::Tensor& weight_OI, torch::ScalarType type) const;

  // x (..., I) -> (..., O) in x's type, plus `base` (..., O) of that type. bias_O and base may be
  // undefined.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& bias_O,
                        const torch::Tensor& base = {}) const;
  // x w^T of rows (R, I), for a device's products: its rows begin at boundaries of 128 bytes, since
  // others (a vocabulary of 50,257) would be written one number at a time.
  torch::Tensor forward_aligned(const torch::Tensor& x_RI) const;
  // The same on memory: x [N][I] to y [N][O], kPacked only. `base` may be y.
  struct Rows {
    const std::uint16_t* x;
    std::uint16_t* y;
    std::int64_t count;
    const std::uint16_t* base = nullptr;
    bool gelu = false;
    float* sums = nullptr;  // in place of y: x w^T as it is
  };
  ProductItems forward_items(const Rows& rows, const torch::Tensor& bias_O) const;
  // The same without base, and its GELU; `before` only where it is wanted. kPacked only, as is
  // every function named after GELU.
  struct WithGelu {
    torch::Tensor before, after;
  };
  WithGelu forward_gelu(const torch::Tensor& x, const torch::Tensor& bias_O,
                        bool wants_before) const;

  // dy (..., O) -> dx (..., I). Packs the weight for it unless the last call's packing is there.
  torch::Tensor input_gradient(const torch::Tensor& dy);
  // dx * gelu'(before), where x = gelu(before).
  torch::Tensor input_gradient_gelu(const torch::Tensor& dy, const torch::Tensor& before);
  // Gives up what input_gradient packed, which is needed once a backward pass.
  void forget_backward() { backward_ = torch::Tensor(); }

  // dw = dy^T x, or dw += with `add`; dw is fp32 (fp64 where the weight is), contiguous. Rows of dy
  // may lie apart.
  void weight_gradient(const torch::Tensor& dy, const torch::Tensor& x, const torch::Tensor& dw_OI,
                       bool add) const;
  // dw = dy^T gelu(before).
  void weight_gradient_gelu(const torch::Tensor& dy, const torch::Tensor& before,
                            const torch::Tensor& dw_OI) const;
  // db of y = x w^T + b, in fp32.
  static torch::Tensor bias_gradient(const torch::Tensor& dy);

 private:
  const void* packed_backward();

  torch::ScalarType type_;
  Kind kind_;
  std::int64_t outputs_, inputs_;
  std::int64_t version_;              // LibTorch's count of the weight's changes
  torch::Tensor weight_OI_;           // the weight itself
  torch::Tensor typed_OI_;            // kLibtorch: in `type_`
  torch::Tensor forward_, backward_;  // kPacked: w^T, and w where it is in use
};

// x (R, I) by w (O, I), in rows that begin at boundaries of 128 bytes.
torch::Tensor aligned_product(const torch::Tensor& x_RI, const torch::Tensor& w_OI);

using SharedProducts = c10::intrusive_ptr<LinearProducts>;

}  // namespace alibi
