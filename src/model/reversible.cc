#include "model/reversible.h"

#include "device/exact_type.h"
#include "device/libtorch.h"

namespace alibi {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

torch::Tensor rows_of(const torch::Tensor& x_BTC) { return x_BTC.view({-1, x_BTC.size(2)}); }

struct HeldLayers : torch::CustomClassHolder {
  std::vector<ReversibleLayer> layers;
  std::int64_t chunk_rows = 0;
};

// One layer, in place and without a graph.
void forward_layer(const ReversibleLayer& layer, const torch::Tensor& x1_BTC,
                   const torch::Tensor& x2_BTC, std::int64_t chunk_rows) {
  x1_BTC.add_(layer.f(x2_BTC));
  const torch::Tensor from_NC = rows_of(x1_BTC), to_NC = rows_of(x2_BTC);
  for_row_chunks(from_NC.size(0), chunk_rows, [&](std::int64_t first, std::int64_t count) {
    to_NC.narrow(0, first, count).add_(layer.g(from_NC.narrow(0, first, count), first));
  });
}

// Calls `function` on x with a graph, adds its gradient for dy to dx, and returns its value.
template <class Function>
torch::Tensor value_and_gradient(const torch::Tensor& x, const torch::Tensor& dy,
                                 const torch::Tensor& dx, const Function& function) {
  torch::Tensor leaf = x.detach().requires_grad_(), y;
  {
    const at::AutoGradMode on(true);
    y = function(leaf);
  }
  torch::autograd::backward({y}, {dy.to(y.scalar_type())});
  dx.add_(leaf.grad());
  return y.detach();
}

// One layer backwards, in place: outputs become inputs, and so do their gradients.
void backward_layer(const ReversibleLayer& layer, const torch::Tensor& y1_BTC,
                    const torch::Tensor& y2_BTC, const torch::Tensor& d1_BTC,
                    const torch::Tensor& d2_BTC, std::int64_t chunk_rows) {
  const torch::Tensor y1_NC = rows_of(y1_BTC), y2_NC = rows_of(y2_BTC), d1_NC = rows_of(d1_BTC),
                      d2_NC = rows_of(d2_BTC);
  for_row_chunks(y1_NC.size(0), chunk_rows, [&](std::int64_t first, std::int64_t count) {
    const auto part = [&](const torch::Tensor& x_NC) { return x_NC.narrow(0, first, count); };
    part(y2_NC).sub_(
        value_and_gradient(part(y1_NC), part(d2_NC), part(d1_NC),
                           [&](const torch::Tensor& x_RC) { return layer.g(x_RC, first); }));
  });
  y1_BTC.sub_(value_and_gradient(y2_BTC, d1_BTC, d2_BTC, layer.f));
}

class ReversibleLayers : public torch::autograd::Function<ReversibleLayers> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x_BTC,
                               const c10::intrusive_ptr<HeldLayers>& held) {
    const torch::Tensor x1_BTC = x_BTC.to(exact_type(x_BTC), false, /*copy=*/true).contiguous(),
                        x2_BTC = x1_BTC.clone();
    for (const ReversibleLayer& layer : held->layers)
      forward_layer(layer, x1_BTC, x2_BTC, held->chunk_rows);
    context->save_for_backward({x1_BTC, x2_BTC});
    context->saved_data["layers"] = c10::IValue::make_capsule(held);
    context->saved_data["type"] = static_cast<std::int64_t>(x_BTC.scalar_type());
    return mean_of_streams(x1_BTC, x2_BTC);
  }

  // The saved streams are changed in place: LibTorch refuses a second pass over this graph.
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto held =
        c10::static_intrusive_pointer_cast<HeldLayers>(context->saved_data["layers"].toCapsule());
    const auto type = static_cast<torch::ScalarType>(context->saved_data["type"].toInt());
    const variable_list streams = context->get_saved_variables();
    const torch::Tensor d1_BTC = gradients[0].mul(0.5).contiguous(), d2_BTC = d1_BTC.clone();
    for (auto layer = held->layers.rbegin(); layer != held->layers.rend(); ++layer)
      backward_layer(*layer, streams[0], streams[1], d1_BTC, d2_BTC, held->chunk_rows);
    return {(d1_BTC + d2_BTC).to(type), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor mean_of_streams(const torch::Tensor& x1, const torch::Tensor& x2) {
  return (x1 + x2).mul_(0.5);
}

torch::Tensor reversible_layers(const torch::Tensor& x_BTC, std::vector<ReversibleLayer> layers,
                                Activations activations, std::int64_t chunk_rows) {
  if (activations == Activations::kRecomputed) {
    auto held = c10::make_intrusive<HeldLayers>();
    held->layers = std::move(layers);
    held->chunk_rows = chunk_rows;
    return ReversibleLayers::apply(x_BTC, held);
  }
  torch::Tensor x1_BTC = x_BTC.to(exact_type(x_BTC)), x2_BTC = x1_BTC;
  for (const ReversibleLayer& layer : layers) {
    x1_BTC = x1_BTC + layer.f(x2_BTC);
    const torch::Tensor from_NC = x1_BTC.reshape({-1, x1_BTC.size(2)});
    x2_BTC = x2_BTC + by_row_chunks(from_NC, chunk_rows, layer.g).view(x2_BTC.sizes());
  }
  return mean_of_streams(x1_BTC, x2_BTC);
}

}  // namespace alibi
