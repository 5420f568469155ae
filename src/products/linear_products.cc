#include "products/linear_products.h"

#include <ATen/record_function.h>

#include "base/error.h"
#include "kernels/packed_product.h"
#include "kernels/processor.h"
#include "kernels/tile_gemm.h"
#include "products/spread.h"

namespace alibi {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Rows of a right operand that one work item packs.
constexpr std::int64_t kPackRows = 128;

void nothing() {}

const std::uint16_t* words(const torch::Tensor& x) {
  return reinterpret_cast<const std::uint16_t*>(x.data_ptr<at::BFloat16>());
}

Matrix<const std::uint16_t> bf16_rows(const torch::Tensor& x_NC) {
  return {words(x_NC), x_NC.size(0), x_NC.size(1), x_NC.size(1)};
}

Matrix<const float> fp32_rows(const torch::Tensor& w_OI) {
  return {w_OI.data_ptr<float>(), w_OI.size(0), w_OI.size(1), w_OI.size(1)};
}

torch::Tensor as_rows(const torch::Tensor& x) { return x.reshape({-1, x.size(-1)}).contiguous(); }

torch::Tensor like_rows(const torch::Tensor& x, const torch::Tensor& rows_NC) {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = rows_NC.size(1);
  return rows_NC.view(sizes);
}

template <class Number>
torch::Tensor packed_by_rows(const Matrix<const Number>& x) {
  torch::Tensor packed = raw_bytes(packed_bytes(x.rows, x.columns));
  const std::int64_t items = (x.rows + kPackRows - 1) / kPackRows;
  spread(items, 0, nothing, [&](std::int64_t i, void*) {
    const std::int64_t first = i * kPackRows;
    pack_rows(x, first, std::min(kPackRows, x.rows - first), packed.data_ptr());
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

torch::Tensor product(const torch::Tensor& x_NK, const torch::Tensor& right, std::int64_t columns,
                      const float* bias) {
  torch::Tensor out_NC = torch::empty({x_NK.size(0), columns}, x_NK.options());
  auto* out = reinterpret_cast<std::uint16_t*>(out_NC.data_ptr<at::BFloat16>());
  const PackedProduct p{
      bf16_rows(x_NK), right.data_ptr(), {out, x_NK.size(0), columns, columns}, bias};
  const std::int64_t rows = x_NK.size(0), block = block_rows(rows);
  const std::int64_t row_blocks = (rows + block - 1) / block;
  const std::int64_t panels = (columns + kPanel - 1) / kPanel;
  // One row block is all of a small batch: its panels are shared out then.
  const std::int64_t wanted = std::max<std::int64_t>(1, 4 * at::get_num_threads() / row_blocks);
  const std::int64_t share = std::max<std::int64_t>(1, panels / wanted);
  const std::int64_t shares = (panels + share - 1) / share;
  spread(row_blocks * shares, product_scratch_bytes(), tile_gemm_release,
         [&](std::int64_t i, void* scratch) {
           const std::int64_t row = i / shares * block, panel = i % shares * share;
           product_block(p,
                         {row, std::min(block, rows - row), panel, std::min(share, panels - panel)},
                         scratch);
         });
  return out_NC;
}

class PackedLinear : public torch::autograd::Function<PackedLinear> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight_OI,
                               const std::optional<torch::Tensor>& bias_O,
                               const c10::intrusive_ptr<LinearProducts>& products) {
    RECORD_USER_SCOPE("alibi::linear layers");
    context->save_for_backward({x, weight_OI});
    context->saved_data["products"] = c10::IValue::make_capsule(products);
    context->saved_data["bias"] = bias_O.has_value();
    return products->forward(x, bias_O.value_or(torch::Tensor()));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    RECORD_USER_SCOPE("alibi::linear layers");
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &weight_OI = saved[1];
    const auto capsule = context->saved_data["products"].toCapsule();
    const auto& products = static_cast<const LinearProducts&>(*capsule);
    const torch::Tensor dy = gradients[0].contiguous();
    torch::Tensor dx, dw_OI, db_O;
    if (context->needs_input_grad(1)) {
      dw_OI = torch::empty_like(weight_OI);
      products.weight_gradient(dy, x, dw_OI, false);
    }
    if (context->saved_data["bias"].toBool()) db_O = at::sum(as_rows(dy), 0, false, torch::kFloat);
    if (context->needs_input_grad(0)) dx = products.input_gradient(dy);
    return {dx, dw_OI, db_O, torch::Tensor()};
  }
};

}  // namespace

LinearProducts::Kind LinearProducts::best_kind(const torch::Tensor& weight_OI,
                                               torch::ScalarType type) {
  const bool packed = has_avx512_bf16() && weight_OI.is_cpu() &&
                      weight_OI.scalar_type() == torch::kFloat && type == torch::kBFloat16 &&
                      weight_OI.is_contiguous() && weight_OI.size(0) % 2 == 0 &&
                      weight_OI.size(1) % kPanel == 0;
  return packed ? Kind::kPacked : Kind::kLibtorch;
}

LinearProducts::LinearProducts(const torch::Tensor& weight_OI, torch::ScalarType type,
                               bool with_gradients, Kind kind)
    : type_(type),
      with_gradients_(with_gradients),
      kind_(kind),
      outputs_(weight_OI.size(0)),
      inputs_(weight_OI.size(1)),
      place_(weight_OI.data_ptr()),
      version_(weight_OI._version()) {
  if (kind == Kind::kLibtorch) {
    weight_OI_ = weight_OI.detach().to(type);
    return;
  }
  const Matrix<const float> w = fp32_rows(weight_OI);
  forward_ = packed_transposed(w);
  if (with_gradients) backward_ = packed_by_rows(w);
}

bool LinearProducts::stands_for(const torch::Tensor& weight_OI, torch::ScalarType type,
                                bool with_gradients) const {
  return place_ == weight_OI.data_ptr() && version_ == weight_OI._version() && type_ == type &&
         (with_gradients_ || !with_gradients);
}

torch::Tensor LinearProducts::forward(const torch::Tensor& x, const torch::Tensor& bias_O) const {
  if (kind_ == Kind::kLibtorch)
    return at::linear(x, weight_OI_, bias_O.defined() ? bias_O.to(type_) : bias_O);
  const float* bias = bias_O.defined() ? bias_O.data_ptr<float>() : nullptr;
  return like_rows(x, product(as_rows(x), forward_, outputs_, bias));
}

torch::Tensor LinearProducts::input_gradient(const torch::Tensor& dy) const {
  ensure(with_gradients_, "made for gradients");
  if (kind_ == Kind::kLibtorch) return at::matmul(dy, weight_OI_);
  return like_rows(dy, product(as_rows(dy), backward_, inputs_, nullptr));
}

void LinearProducts::weight_gradient(const torch::Tensor& dy, const torch::Tensor& x,
                                     const torch::Tensor& dw_OI, bool add) const {
  const torch::Tensor dy_NO = as_rows(dy), x_NI = as_rows(x);
  if (kind_ == Kind::kLibtorch) {
    const torch::Tensor product_OI = dy_NO.t().mm(x_NI);
    add ? dw_OI.add_(product_OI) : dw_OI.copy_(product_OI);
    return;
  }
  const torch::Tensor packed = packed_by_rows(bf16_rows(x_NI));
  const WeightGradient p{bf16_rows(dy_NO),
                         packed.data_ptr(),
                         {dw_OI.data_ptr<float>(), outputs_, inputs_, inputs_},
                         add};
  const std::int64_t block = block_rows(outputs_);
  spread((outputs_ + block - 1) / block, weight_gradient_scratch_bytes(), tile_gemm_release,
         [&](std::int64_t i, void* scratch) {
           weight_gradient_block(p, i * block, std::min(block, outputs_ - i * block), scratch);
         });
}

torch::Tensor packed_linear(const torch::Tensor& x, const torch::Tensor& weight_OI,
                            const torch::Tensor& bias_O,
                            const c10::intrusive_ptr<LinearProducts>& products) {
  // LibTorch takes no undefined tensors here.
  return PackedLinear::apply(x, weight_OI, bias_O.defined() ? std::optional(bias_O) : std::nullopt,
                             products);
}

}  // namespace alibi
