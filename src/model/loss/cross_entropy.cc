#include "model/loss/cross_entropy.h"

#include <ATen/record_function.h>

#include <algorithm>

#include "base/error.h"
#include "device/exact_type.h"
#include "device/libtorch.h"
#include "model/linear/linear_products.h"
#include "model/loss/chunk_loss.h"

namespace alibi {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Gradients were made for an objective whose own gradient is 1, as it nearly always is: then there
// is no pass over V x C numbers. (A device is not asked: it would have to wait.)
torch::Tensor times(const torch::Tensor& gradient, const torch::Tensor& factor) {
  if (factor.is_cpu() && factor.item<double>() == 1) return gradient;
  return gradient * factor.to(gradient.scalar_type());
}

class CrossEntropy : public torch::autograd::Function<CrossEntropy> {
 public:
  // Gives objective and cross-entropy.
  static variable_list forward(AutogradContext* context, const torch::Tensor& hidden_NC,
                               const torch::Tensor& weight_VC, const torch::Tensor& targets_N,
                               const LossOptions& options, bool needs_gradient) {
    RECORD_USER_SCOPE("alibi::loss");
    const std::int64_t rows = hidden_NC.size(0);
    const auto exact = exact_type(hidden_NC);
    const torch::ScalarType type = hidden_NC.scalar_type();
    LinearProducts head(weight_VC, type,
                        options.packs ? LinearProducts::best_kind(weight_VC, type)
                                      : LinearProducts::Kind::kLibtorch);
    torch::Tensor total = torch::zeros({}, hidden_NC.options().dtype(exact));
    torch::Tensor squares = torch::zeros_like(total);
    const double divisor = options.divisor > 0 ? options.divisor : static_cast<double>(rows);
    const ChunkScale scale{1.0 / divisor, options.z_loss, options.left_out};
    torch::Tensor dhidden_NC = needs_gradient ? torch::empty_like(hidden_NC) : torch::Tensor();
    torch::Tensor dweight_VC = needs_gradient ? torch::empty_like(weight_VC) : torch::Tensor();
    const std::int64_t most = rows_at_once(hidden_NC, options.chunk_rows);
    for (std::int64_t first = 0; first < rows; first += most) {
      const std::int64_t count = std::min(most, rows - first);
      const torch::Tensor h_RC = hidden_NC.narrow(0, first, count);
      const torch::Tensor target_R1 = targets_N.narrow(0, first, count).unsqueeze(1).contiguous();
      const ChunkLoss chunk =
          chunk_loss(head.forward_aligned(h_RC), target_R1, scale, needs_gradient);
      total += chunk.sum;
      if (options.z_loss > 0) squares += chunk.square_sum;
      if (!needs_gradient) continue;
      const torch::Tensor& g_RV = chunk.gradient_RV;
      dhidden_NC.narrow(0, first, count).copy_(head.input_gradient(g_RV));
      head.weight_gradient(g_RV, h_RC, dweight_VC, first > 0);
    }
    if (needs_gradient) context->save_for_backward({dhidden_NC, dweight_VC});
    context->saved_data["starts_backward"] = options.starts_backward;
    const torch::Tensor mean = total / divisor;
    const torch::Tensor objective =
        options.z_loss > 0 ? mean + options.z_loss * squares / divisor : mean.clone();
    context->mark_non_differentiable({mean});
    return {objective, mean};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    if (context->saved_data["starts_backward"].toBool()) {
      ensure(!gradients[0].is_cpu() || gradients[0].item<double>() == 1,
             "backward starts at the objective");
      return {saved[0], saved[1], torch::Tensor(), torch::Tensor(), torch::Tensor()};
    }
    return {times(saved[0], gradients[0]), times(saved[1], gradients[0]), torch::Tensor(),
            torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

TrainingLoss training_loss(const torch::Tensor& hidden_NC, const torch::Tensor& weight_VC,
                           const torch::Tensor& targets_N, const LossOptions& options) {
  ensure(hidden_NC.size(0) == targets_N.size(0) && hidden_NC.size(0) > 0, "every row has a target");
  const bool needs_gradient =
      at::GradMode::is_enabled() && (hidden_NC.requires_grad() || weight_VC.requires_grad());
  const variable_list losses =
      CrossEntropy::apply(hidden_NC, weight_VC, targets_N, options, needs_gradient);
  return {losses[0], losses[1]};
}

torch::Tensor cross_entropy(const torch::Tensor& hidden_NC, const torch::Tensor& weight_VC,
                            const torch::Tensor& targets_N, std::int64_t chunk_rows) {
  return training_loss(hidden_NC, weight_VC, targets_N, {.chunk_rows = chunk_rows}).objective;
}

torch::Tensor token_losses(const torch::Tensor& hidden_NC, const torch::Tensor& weight_VC,
                           const torch::Tensor& targets_N, std::int64_t chunk_rows) {
  const torch::NoGradGuard guard;
  const auto exact = exact_type(weight_VC);
  std::vector<torch::Tensor> parts;
  for (std::int64_t first = 0; first < hidden_NC.size(0); first += chunk_rows) {
    const std::int64_t count = std::min(chunk_rows, hidden_NC.size(0) - first);
    const torch::Tensor logits_RV =
        at::linear(hidden_NC.narrow(0, first, count).to(exact), weight_VC);
    const torch::Tensor target_R1 = targets_N.narrow(0, first, count).unsqueeze(1);
    parts.push_back((logits_RV.logsumexp(1, true) - logits_RV.gather(1, target_R1)).squeeze(1));
  }
  return torch::cat(parts);
}

}  // namespace alibi
