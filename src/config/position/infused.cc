// Position-infused attention (Press et al. 2021, "Shortformer", arXiv:2012.15832, section 5.1):
// sinusoids are added to what queries and keys are made from in every layer, to values never.
#include "base/strings.h"
#include "config/faults.h"
#include "config/model_config.h"

namespace alibi {
namespace {

void check(const ModelConfig& m, Faults& faults) {
  if (faults.sound({"/model/width", "/model/position"}) && m.width % 2 != 0) {
    faults.add(
        "/model/position",
        cat("position_infused has pairs of sine and cosine, but the width ", m.width, " is odd"),
        "choose an even width");
  }
}

constexpr const char* kPython = R"py(
class Positions(NoPositions):
    """Sinusoids added to what queries and keys are made from, in every layer (Press et al. 2021)."""

    @staticmethod
    def infuse(m, positions):
        half = m["width"] // 2
        pairs = torch.arange(half, device=positions.device, dtype=torch.float64)
        angles = positions.double().unsqueeze(-1) * 10000 ** (-pairs / half)
        return torch.cat([angles.sin(), angles.cos()], -1)
)py";

}  // namespace

const PositionMethod kInfusedPositions = {
    .check = check,
    .paper =
        "with sinusoidal positions added to queries and keys in every layer "
        "(position-infused attention, Press et al. 2021, arXiv:2012.15832)",
    .python = kPython};

}  // namespace alibi
