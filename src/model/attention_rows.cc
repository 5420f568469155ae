#include "model/attention_rows.h"

#include "device/libtorch.h"

namespace alibi {

torch::Tensor dense_rows(const torch::Tensor& x_BHTD) {
  return x_BHTD.stride(3) == 1 ? x_BHTD : x_BHTD.contiguous();
}

torch::Tensor rows_like(const torch::Tensor& x_BHTD) {
  return torch::empty({x_BHTD.size(0), x_BHTD.size(2), x_BHTD.size(1), x_BHTD.size(3)},
                      x_BHTD.options())
      .transpose(1, 2);
}

AttentionGradients empty_gradients(const AttentionInputs& inputs) {
  const torch::Tensor &q = inputs.q_BHTD, &k = inputs.k_BGSD;
  if (q.size(2) != k.size(2)) return {rows_like(q), rows_like(k), rows_like(inputs.v_BGSD)};
  const std::int64_t heads = q.size(1), shared = k.size(1);
  const torch::Tensor all_BHTD =
      torch::empty({q.size(0), q.size(2), heads + 2 * shared, q.size(3)}, q.options())
          .transpose(1, 2);
  return {all_BHTD.narrow(1, 0, heads), all_BHTD.narrow(1, heads, shared),
          all_BHTD.narrow(1, heads + shared, shared)};
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The (B, T, W) tensor of which the parts are neighbouring columns, or undefined.
torch::Tensor whole_of(const variable_list& parts_BTW) {
  const torch::Tensor& first = parts_BTW.front();
  const std::int64_t rows = first.size(1);
  std::int64_t width = 0;
  for (const torch::Tensor& part : parts_BTW) width += part.size(2);
  std::int64_t column = 0;
  for (const torch::Tensor& part : parts_BTW) {
    const bool in_place = part.storage().is_alias_of(first.storage()) && part.stride(2) == 1 &&
                          part.stride(1) == width &&
                          (part.size(0) == 1 || part.stride(0) == rows * width) &&
                          part.storage_offset() == first.storage_offset() + column;
    if (!in_place) return {};
    column += part.size(2);
  }
  return first.as_strided({first.size(0), rows, width}, {rows * width, width, 1},
                          first.storage_offset());
}

class SplitLast : public torch::autograd::Function<SplitLast> {
 public:
  static variable_list forward(AutogradContext*, const torch::Tensor& x_BTW,
                               const std::vector<std::int64_t>& widths) {
    return x_BTW.split_with_sizes(widths, 2);
  }

  static variable_list backward(AutogradContext*, const variable_list& gradients) {
    const torch::Tensor whole_BTW = whole_of(gradients);
    return {whole_BTW.defined() ? whole_BTW : torch::cat(gradients, 2), torch::Tensor()};
  }
};

}  // namespace

std::vector<torch::Tensor> split_last(const torch::Tensor& x_BTW,
                                      const std::vector<std::int64_t>& widths) {
  if (!at::GradMode::is_enabled()) return x_BTW.split_with_sizes(widths, 2);
  return SplitLast::apply(x_BTW, widths);
}

}  // namespace alibi
