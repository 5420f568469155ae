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

}  // namespace alibi
