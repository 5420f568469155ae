// Forget gates (FoX: Lin et al. 2025, arXiv:2503.02130): each head lets what lies behind a token
// fade by a share that it reads from that token. CABLE's biases (Veisi et al. 2025,
// arXiv:2503.08067), sums of - softplus(w x + b), are the same with the signs of w and b turned.
#include "base/strings.h"
#include "config/model_config.h"

namespace alibi {
namespace {

std::vector<ParameterShape> parameters(const ModelConfig& m) {
  std::vector<ParameterShape> all;
  for (std::int64_t i = 0; i < m.layers; ++i) {
    all.push_back({cat("forget_", i), {m.heads, m.width}});
    all.push_back({cat("forget_bias_", i), {m.heads}});
  }
  return all;
}

}  // namespace

const PositionMethod kForgettingPositions = {
    .parameters = parameters,
    .counts_distances = true,
    .arithmetic_revision = 2,
    .paper = "with forget gates on the attention scores (FoX, Lin et al. 2025, arXiv:2503.02130)",
    .python = nullptr};

}  // namespace alibi
