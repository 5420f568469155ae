#include "model/position/positions.h"

namespace alibi {

const MakePositions kMakeNone = [](const ModelConfig&, const RegisterParameter&) {
  return std::make_unique<Positions>();
};

}  // namespace alibi
