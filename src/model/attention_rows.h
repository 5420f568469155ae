// Layouts of heads that kernels read and write.
#pragma once

#include "kernels/head_rows.h"
#include "model/attention.h"

namespace alibi {

template <class Number>
HeadRows<Number> head_rows(const torch::Tensor& x_BHTD) {
  return {static_cast<Number*>(x_BHTD.data_ptr()), x_BHTD.stride(0), x_BHTD.stride(1),
          x_BHTD.stride(2)};
}

// As it is where each row's numbers lie side by side, else a copy.
torch::Tensor dense_rows(const torch::Tensor& x_BHTD);

// Laid out as (B, T, H, D), so that joining heads costs nothing.
torch::Tensor rows_like(const torch::Tensor& x_BHTD);

// Gradients of q, k and v side by side, as they are in the tensor they were split from
// (model/split_last.h); apart where queries and keys differ in number. Not filled.
AttentionGradients empty_gradients(const AttentionInputs& inputs);

}  // namespace alibi
