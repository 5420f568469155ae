#include "model/linear/linear_products.h"

#include <ATen/record_function.h>

#include "base/error.h"
#include "device/libtorch.h"
#include "kernels/packed_product.h"
#include "kernels/processor.h"
#include "kernels/tile_gemm.h"
#include "model/linear/spread.h"

namespace alibi {
namespace {

// Rows of a right operand that one work item packs.
constexpr std::int64_t kPackRows = 128;

// Of `bench step`'s table.
constexpr const char* kPart = "alibi::linear layers";

Matrix<const std::uint16_t> bf16_rows(const torch::Tensor& x_NC) {
  return {bf16_data(x_NC), x_NC.size(0), x_NC.size(1), x_NC.size(1)};
}

Matrix<const float> fp32_rows(const torch::Tensor& w_OI) {
  return {w_OI.data_ptr<float>(), w_OI.size(0), w_OI.size(1), w_OI.size(1)};
}

torch::Tensor as_rows(const torch::Tensor& x) { return x.reshape({-1, x.size(-1)}).contiguous(); }

// Without a copy where rows have a pitch of their own.
torch::Tensor as_strided_rows(const torch::Tensor& x) {
  return x.dim() == 2 && x.stride(1) == 1 ? x : as_rows(x);
}

torch::Tensor like_rows(const torch::Tensor& x, const torch::Tensor& rows_NC) {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = rows_NC.size(1);
  return rows_NC.view(sizes);
}

// pack(first row, rows, packed) for every part of the rows.
template <class Pack>
torch::Tensor packed_by_rows(std::int64_t rows, std::int64_t columns, const Pack& pack) {
  torch::Tensor packed = raw_bytes(packed_bytes(rows, columns));
  spread((rows + kPackRows - 1) / kPackRows, 0, nothing, [&](std::int64_t i, void*) {
    const std::int64_t first = i * kPackRows;
    pack(first, std::min(kPackRows, rows - first), packed.data_ptr());
  });
  return packed;
}

torch::Tensor packed_transposed(const Matrix<const float>& w) {
  torch::Tensor packed = raw_bytes(packed_bytes(w.columns, w.rows));
  spread((w.rows + kPanel - 1) / kPanel, 0, nothing,
         [&](std::int64_t panel, void*) { pack_transposed(w, panel, packed.data_ptr()); });
  return packed;
}

// Rows of a work item: few enough that every thread gets several.
std::int64_t block_rows(std::int64_t rows) {
  std::int64_t block = kBlockRows;
  while (block > 64 && rows < 4 * block * at::get_num_threads()) block /= 2;
  return block;
}

// out = x right with what `p` adds to it; p's other members are set here.
torch::Tensor product(const torch::Tensor& x_NK, const void* right, std::int64_t columns,
                      PackedProduct p) {
  torch::Tensor out_NC = torch::empty({x_NK.size(0), columns}, x_NK.options());
  if (x_NK.size(0) == 0) return out_NC;
  p.left = bf16_rows(x_NK);
  p.right = right;
  p.out = {bf16_data(out_NC), x_NK.size(0), columns, columns};
  const ProductItems items(p);
  spread(items.count(), product_scratch_bytes(), tile_gemm_release,
         [&](std::int64_t i, void* scratch) { items.run(i, scratch); });
  return out_NC;
}

void sum_weight_gradient(const torch::Tensor& dy_NO, const torch::Tensor& packed_inputs,
                         const torch::Tensor& dw_OI, bool add) {
  const std::int64_t outputs = dw_OI.size(0), inputs = dw_OI.size(1), block = block_rows(outputs);
  ensure(dy_NO.size(1) == outputs, "a gradient for every output");
  if (dy_NO.size(0) == 0 && !add) dw_OI.zero_();
  const WeightGradient p{bf16_rows(dy_NO),
                         packed_inputs.data_ptr(),
                         {dw_OI.data_ptr<float>(), outputs, inputs, inputs},
                         add};
  spread((outputs + block - 1) / block, weight_gradient_scratch_bytes(), tile_gemm_release,
         [&](std::int64_t i, void* scratch) {
           weight_gradient_block(p, i * block, std::min(block, outputs - i * block), scratch);
         });
}

const float* fp32_or_null(const torch::Tensor& bias_O) {
  return bias_O.defined() ? bias_O.data_ptr<float>() : nullptr;
}

}  // namespace

torch::Tensor aligned_product(const torch::Tensor& x_RI, const torch::Tensor& w_OI) {
  const std::int64_t outputs = w_OI.size(0), step = 128 / x_RI.element_size();
  const std::int64_t pitch = (outputs + step - 1) / step * step;
  torch::Tensor y_RO = torch::empty({x_RI.size(0), pitch}, x_RI.options()).narrow(1, 0, outputs);
  at::mm_out(y_RO, x_RI, w_OI.t());
  return y_RO;
}

ProductItems::ProductItems(const PackedProduct& p) : product_(p), block_(block_rows(p.left.rows)) {
  row_blocks_ = (p.left.rows + block_ - 1) / block_;
  const std::int64_t panels = (p.out.columns + kPanel - 1) / kPanel;
  // One row block is all of a small batch: its panels are shared out then.
  const std::int64_t wanted = std::max<std::int64_t>(1, 4 * at::get_num_threads() / row_blocks_);
  share_ = std::max<std::int64_t>(1, panels / wanted);
  shares_ = (panels + share_ - 1) / share_;
}

void ProductItems::run(std::int64_t i, void* scratch) const {
  const std::int64_t rows = product_.left.rows,
                     panels = (product_.out.columns + kPanel - 1) / kPanel;
  const std::int64_t row = i / shares_ * block_, panel = i % shares_ * share_;
  product_block(product_,
                {row, std::min(block_, rows - row), panel, std::min(share_, panels - panel)},
                scratch);
}

LinearProducts::Kind LinearProducts::best_kind(const torch::Tensor& weight_OI,
                                               torch::ScalarType type) {
  const bool packed = has_avx512_bf16() && weight_OI.is_cpu() &&
                      weight_OI.scalar_type() == torch::kFloat && type == torch::kBFloat16 &&
                      weight_OI.is_contiguous() && weight_OI.size(0) % 2 == 0 &&
                      weight_OI.size(1) % kPanel == 0;
  return packed ? Kind::kPacked : Kind::kLibtorch;
}

LinearProducts::LinearProducts(const torch::Tensor& weight_OI, torch::ScalarType type, Kind kind)
    : type_(type),
      kind_(kind),
      outputs_(weight_OI.size(0)),
      inputs_(weight_OI.size(1)),
      version_(weight_OI._version()),
      weight_OI_(weight_OI.detach()) {
  RECORD_USER_SCOPE(kPart);
  if (kind == Kind::kLibtorch) {
    typed_OI_ = weight_OI_.to(type);
  } else {
    forward_ = packed_transposed(fp32_rows(weight_OI_));
  }
}

bool LinearProducts::matches(const torch::Tensor& weight_OI, torch::ScalarType type) const {
  return weight_OI_.data_ptr() == weight_OI.data_ptr() && version_ == weight_OI._version() &&
         type_ == type;
}

torch::Tensor LinearProducts::forward(const torch::Tensor& x, const torch::Tensor& bias_O,
                                      const torch::Tensor& base) const {
  RECORD_USER_SCOPE(kPart);
  if (kind_ == Kind::kLibtorch) {
    const torch::Tensor y = at::linear(x, typed_OI_, bias_O.defined() ? bias_O.to(type_) : bias_O);
    return base.defined() ? base + y : y;
  }
  ensure(x.size(-1) == inputs_, "as wide as the layer");
  PackedProduct p;
  torch::Tensor base_NO;
  if (base.defined()) {
    ensure(base.size(-1) == outputs_ && base.scalar_type() == type_ &&
               base.sizes().slice(0, base.dim() - 1) == x.sizes().slice(0, x.dim() - 1),
           "a base for every output of every row, in x's type");
    base_NO = as_rows(base);
    p.base = bf16_data(base_NO);
  }
  p.bias = fp32_or_null(bias_O);
  return like_rows(x, product(as_rows(x), forward_.data_ptr(), outputs_, p));
}

torch::Tensor LinearProducts::forward_aligned(const torch::Tensor& x_RI) const {
  if (!x_RI.is_cuda()) return forward(x_RI, {});
  RECORD_USER_SCOPE(kPart);
  return aligned_product(x_RI, typed_OI_);
}

ProductItems LinearProducts::forward_items(const Rows& rows, const torch::Tensor& bias_O) const {
  ensure(kind_ == Kind::kPacked && rows.count > 0, "a packed weight meets rows");
  PackedProduct p;
  p.left = {rows.x, rows.count, inputs_, inputs_};
  p.right = forward_.data_ptr();
  p.out = {rows.y, rows.count, outputs_, outputs_};
  p.bias = fp32_or_null(bias_O);
  p.base = rows.base;
  p.gelu = rows.gelu;
  p.sums = rows.sums;
  return ProductItems(p);
}

LinearProducts::WithGelu LinearProducts::forward_gelu(const torch::Tensor& x,
                                                      const torch::Tensor& bias_O,
                                                      bool wants_before) const {
  RECORD_USER_SCOPE(kPart);
  ensure(kind_ == Kind::kPacked && x.size(-1) == inputs_, "packed, and as wide as the layer");
  const torch::Tensor x_NI = as_rows(x);
  WithGelu both;
  PackedProduct p;
  p.bias = fp32_or_null(bias_O);
  p.gelu = true;
  if (wants_before) {
    const torch::Tensor before_NO = torch::empty({x_NI.size(0), outputs_}, x_NI.options());
    p.before = bf16_data(before_NO);
    both.before = like_rows(x, before_NO);
  }
  both.after = like_rows(x, product(x_NI, forward_.data_ptr(), outputs_, p));
  return both;
}

const void* LinearProducts::packed_backward() {
  ensure(version_ == weight_OI_._version(), "weights change after the backward pass only");
  if (!backward_.defined()) {
    const Matrix<const float> w = fp32_rows(weight_OI_);
    backward_ = packed_by_rows(outputs_, inputs_, [&](auto first, auto count, void* to) {
      pack_rows(w, first, count, to);
    });
  }
  return backward_.data_ptr();
}

torch::Tensor LinearProducts::input_gradient(const torch::Tensor& dy) {
  RECORD_USER_SCOPE(kPart);
  if (kind_ == Kind::kLibtorch) return at::matmul(dy, typed_OI_);
  ensure(dy.size(-1) == outputs_, "a gradient for every output");
  return like_rows(dy, product(as_rows(dy), packed_backward(), inputs_, {}));
}

torch::Tensor LinearProducts::input_gradient_gelu(const torch::Tensor& dy,
                                                  const torch::Tensor& before) {
  RECORD_USER_SCOPE(kPart);
  const torch::Tensor before_NI = as_rows(before);
  ensure(kind_ == Kind::kPacked && dy.size(-1) == outputs_ && before.size(-1) == inputs_ &&
             before_NI.size(0) * outputs_ == dy.numel(),
         "packed; a gradient for every output of every row");
  PackedProduct p;
  p.gelu_gradient_at = bf16_data(before_NI);
  return like_rows(dy, product(as_rows(dy), packed_backward(), inputs_, p));
}

torch::Tensor LinearProducts::bias_gradient(const torch::Tensor& dy) {
  RECORD_USER_SCOPE(kPart);
  return at::sum(as_rows(dy), 0, false, torch::kFloat);
}

void LinearProducts::weight_gradient(const torch::Tensor& dy, const torch::Tensor& x,
                                     const torch::Tensor& dw_OI, bool add) const {
  RECORD_USER_SCOPE(kPart);
  const torch::Tensor x_NI = as_rows(x);
  if (kind_ == Kind::kLibtorch) {
    const torch::Tensor dy_NO = as_strided_rows(dy);
    // A device's products give their sums as they are; otherwise they are rounded to bf16 first.
    if (dy_NO.is_cuda() && type_ == torch::kBFloat16) {
      ensure(dw_OI.scalar_type() == torch::kFloat, "weight gradients are fp32");
      torch::Tensor out_OI = dw_OI;
      add ? at::addmm_out(out_OI, out_OI, dy_NO.t(), x_NI, torch::kFloat)
          : at::mm_out(out_OI, dy_NO.t(), x_NI, torch::kFloat);
      return;
    }
    const torch::Tensor product_OI = dy_NO.t().mm(x_NI);
    add ? dw_OI.add_(product_OI) : dw_OI.copy_(product_OI);
    return;
  }
  const torch::Tensor dy_NO = as_rows(dy);
  ensure(x_NI.size(0) == dy_NO.size(0) && x_NI.size(1) == inputs_, "rows of one batch");
  const auto rows = bf16_rows(x_NI);
  const torch::Tensor packed =
      packed_by_rows(rows.rows, rows.columns,
                     [&](auto first, auto count, void* to) { pack_rows(rows, first, count, to); });
  sum_weight_gradient(dy_NO, packed, dw_OI, add);
}

void LinearProducts::weight_gradient_gelu(const torch::Tensor& dy, const torch::Tensor& before,
                                          const torch::Tensor& dw_OI) const {
  RECORD_USER_SCOPE(kPart);
  const torch::Tensor dy_NO = as_rows(dy), before_NI = as_rows(before);
  ensure(
      kind_ == Kind::kPacked && before_NI.size(0) == dy_NO.size(0) && before_NI.size(1) == inputs_,
      "packed; rows of one batch");
  const auto rows = bf16_rows(before_NI);
  const torch::Tensor packed = packed_by_rows(
      rows.rows, rows.columns,
      [&](auto first, auto count, void* to) { pack_gelu_rows(rows, first, count, to); });
  sum_weight_gradient(dy_NO, packed, dw_OI, false);
}

}  // namespace alibi
