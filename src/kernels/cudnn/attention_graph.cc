#include "kernels/cudnn/attention_graph.h"

namespace alibi {
namespace {

namespace fe = cudnn_frontend;
using Attributes = fe::graph::Tensor_attributes;
using Tensor = std::shared_ptr<Attributes>;

RowStrides strides(const DeviceRows& rows) { return {rows.sequence, rows.head, rows.row}; }

std::int64_t name(GraphTensor tensor) { return static_cast<std::int64_t>(tensor); }

class Builder {
 public:
  Builder(const AttentionShape& shape, const PlanTarget& target)
      : shape_(shape), graph_(std::make_shared<CudnnGraph>()) {
    graph_->set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    if (target.described == nullptr) return;
    graph_->set_device_properties(target.described);
    graph_->set_sm_version(target.capability);
    graph_->set_sm_count(target.processors);
  }

  std::shared_ptr<CudnnGraph> forward() {
    auto options = fe::graph::SDPA_attributes();
    options.set_name("attention").set_generate_stats(true).set_attn_scale(shape_.scale);
    mask(options);
    const Tensor q = query_rows(GraphTensor::kQ, shape_.q);
    const Tensor k = key_rows(GraphTensor::kK, shape_.k);
    const auto [output, lse] = graph_->sdpa(q, k, key_rows(GraphTensor::kV, shape_.v), options);
    describe(*output, shape_.heads, shape_.output, GraphTensor::kOutput).set_output(true);
    lse->set_output(true).set_data_type(fe::DataType_t::FLOAT).set_uid(name(GraphTensor::kLse));
    return graph_;
  }

  std::shared_ptr<CudnnGraph> backward() {
    auto options = fe::graph::SDPA_backward_attributes();
    options.set_name("attention gradients").set_attn_scale(shape_.scale);
    options.set_deterministic_algorithm(false);
    mask(options);
    if (shape_.biased) options.set_score_mod_bprop(unchanged);
    const Tensor q = query_rows(GraphTensor::kQ, shape_.q);
    const Tensor k = key_rows(GraphTensor::kK, shape_.k), v = key_rows(GraphTensor::kV, shape_.v);
    const Tensor output = query_rows(GraphTensor::kOutput, shape_.output);
    const Tensor gradient = query_rows(GraphTensor::kOutputGradient, shape_.output_gradient);
    const auto [dq, dk, dv] = graph_->sdpa_backward(q, k, v, output, gradient, lse(), options);
    describe(*dq, shape_.heads, shape_.q_gradient, GraphTensor::kQGradient).set_output(true);
    describe(*dk, shape_.key_value_heads, shape_.k_gradient, GraphTensor::kKGradient)
        .set_output(true);
    describe(*dv, shape_.key_value_heads, shape_.v_gradient, GraphTensor::kVGradient)
        .set_output(true);
    return graph_;
  }

 private:
  using Scores = std::shared_ptr<CudnnGraph>;

  // The bias does not depend on q and k: gradients of scores pass it as they are.
  static Tensor unchanged(const Scores&, Tensor gradient) { return gradient; }

  // The frontend takes a mask of its own or a function of ours, not both; the function ends with
  // the frontend's mask, whose operations cuDNN recognises and skips by.
  template <class Options>
  void mask(Options& options) const {
    if (!shape_.biased) {
      options.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
          .set_diagonal_band_right_bound(0);
      return;
    }
    options.set_score_mod([heads = shape_.heads](const Scores& graph, const Tensor& scores) {
      namespace modifiers = fe::graph::attn::score_modifiers;
      Tensor slopes;
      std::int64_t bytes = 0;
      const Tensor biased = modifiers::alibi_mask(graph, scores, slopes, heads, bytes);
      slopes->set_name("slopes").set_uid(name(GraphTensor::kSlopes));
      return modifiers::causal_mask(graph, biased);
    });
  }

  Attributes& describe(Attributes& attributes, std::int64_t heads, const RowStrides& rows,
                       GraphTensor which) const {
    return attributes.set_dim({shape_.sequences, heads, shape_.length, shape_.width})
        .set_stride({rows.sequence, rows.head, rows.row, 1})
        .set_uid(name(which));
  }

  Tensor input(std::int64_t heads, const RowStrides& rows, GraphTensor which) const {
    Attributes attributes;
    return graph_->tensor(describe(attributes, heads, rows, which));
  }

  Tensor query_rows(GraphTensor which, const RowStrides& rows) const {
    return input(shape_.heads, rows, which);
  }

  Tensor key_rows(GraphTensor which, const RowStrides& rows) const {
    return input(shape_.key_value_heads, rows, which);
  }

  Tensor lse() const {
    Attributes attributes;
    attributes.set_dim({shape_.sequences, shape_.heads, shape_.length, 1})
        .set_stride({shape_.heads * shape_.length, shape_.length, 1, 1})
        .set_data_type(fe::DataType_t::FLOAT)
        .set_uid(name(GraphTensor::kLse));
    return graph_->tensor(attributes);
  }

  AttentionShape shape_;
  std::shared_ptr<CudnnGraph> graph_;
};

}  // namespace

AttentionShape attention_shape(const DeviceAttention& a, bool backward) {
  AttentionShape shape{.sequences = a.sequences,
                       .heads = a.heads,
                       .key_value_heads = a.key_value_heads,
                       .length = a.queries,
                       .width = a.width,
                       .scale = a.scale,
                       .biased = a.slopes_H != nullptr,
                       .backward = backward,
                       .q = strides(a.q),
                       .k = strides(a.k),
                       .v = strides(a.v),
                       .output = strides(a.output)};
  if (!backward) return shape;
  shape.output_gradient = strides(a.output_gradient);
  shape.q_gradient = strides(a.q_gradient);
  shape.k_gradient = strides(a.k_gradient);
  shape.v_gradient = strides(a.v_gradient);
  return shape;
}

std::shared_ptr<CudnnGraph> attention_graph(const AttentionShape& shape, const PlanTarget& target) {
  Builder builder(shape, target);
  return shape.backward ? builder.backward() : builder.forward();
}

}  // namespace alibi
