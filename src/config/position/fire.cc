// FIRE (Li et al. 2024, arXiv:2310.04418, section 3): a learned function of the distance as a share
// of the query's own place.
#include "base/strings.h"
#include "config/field.h"
#include "config/model_config.h"

namespace alibi {
namespace {

void add_fields(Fields& f, ModelConfig& m) {
  add(f, "fire_threshold", &m.fire_threshold,
      "First value of the learned place up to which the distance is taken whole; a quarter of the "
      "trained length in its paper.")
      .range(1, 1e9)
      .only_if(m.position == Position::kFire, "model.position is \"fire\"");
}

std::vector<ParameterShape> parameters(const ModelConfig& m) {
  std::vector<ParameterShape> all;
  for (std::int64_t i = 0; i < m.layers; ++i) {
    all.push_back({cat("fire_in_", i), {kFireUnits}});
    all.push_back({cat("fire_in_bias_", i), {kFireUnits}});
    all.push_back({cat("fire_out_", i), {m.heads, kFireUnits}});
    all.push_back({cat("fire_out_bias_", i), {m.heads}});
    all.push_back({cat("fire_rate_", i), {1}});
    all.push_back({cat("fire_threshold_", i), {1}});
  }
  return all;
}

}  // namespace

const PositionMethod kFirePositions = {
    .add_fields = add_fields,
    .parameters = parameters,
    .paper =
        "with a learned bias on the distance's share of the context (FIRE, Li et al. 2024, "
        "arXiv:2310.04418)",
    .python = nullptr};

}  // namespace alibi
