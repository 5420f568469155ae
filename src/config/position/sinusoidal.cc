// Sines and cosines added to the embeddings (Vaswani et al. 2017, section 3.5).
#include "base/strings.h"
#include "config/faults.h"
#include "config/model_config.h"

namespace alibi {
namespace {

void check(const ModelConfig& m, Faults& faults) {
  if (faults.sound({"/model/width", "/model/position"}) && m.width % 2 != 0) {
    faults.add("/model/position",
               cat("sinusoidal positions fill pairs, but width ", m.width, " is odd"),
               "choose an even width");
  }
}

constexpr const char* kPython = R"py(
class Positions(NoPositions):
    """Sines before cosines (Vaswani et al. 2017), angles in fp64, added to embeddings times sqrt(width)."""

    def embed_positions(self, x, positions):
        width = x.size(-1)
        exponents = torch.arange(width // 2, device=x.device, dtype=torch.float64) * (-2.0 / width)
        angles = positions.double().unsqueeze(-1) * 10000.0**exponents
        return x * math.sqrt(width) + torch.cat([angles.sin(), angles.cos()], -1).float().to(x.dtype)
)py";

}  // namespace

const PositionMethod kSinusoidalPositions = {
    .check = check, .scales_embeddings = true, .python = kPython};

}  // namespace alibi
