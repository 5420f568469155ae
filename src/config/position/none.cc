// No positions: order is known from what a query can see alone (Haviv et al. 2022).
#include "config/model_config.h"

namespace alibi {
namespace {

PositionForm form(const ModelConfig&) { return {PositionForm::kNothing}; }

}  // namespace

const PositionMethod kNonePositions = {.form = form, .counts_distances = true};

}  // namespace alibi
