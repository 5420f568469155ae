// The product of two positions' sinusoids as a bias (Chi et al. 2023, arXiv:2212.10356, section 5).
#include "base/strings.h"
#include "config/faults.h"
#include "config/field.h"
#include "config/model_config.h"

namespace alibi {
namespace {

void add_fields(Fields& f, ModelConfig& m) {
  add(f, "sandwich_width", &m.sandwich_width,
      "Head h of H gets H / (8 h) times the sum over i < sandwich_width / 2 of cos(d / 10000^(2 i "
      "/ sandwich_width)), d the distance.")
      .range(2, 1 << 16)
      .only_if(m.position == Position::kSandwich, "model.position is \"sandwich\"");
}

void check(const ModelConfig& m, Faults& faults) {
  if (faults.sound({"/model/sandwich_width"}) && m.sandwich_width % 2 != 0)
    faults.add("/model/sandwich_width",
               cat("found ", m.sandwich_width, ", expected an even number"));
}

constexpr const char* kPython = R"py(
class Positions(NoPositions):
    """The product of two positions' sinusoids as a bias (Chi et al. 2023)."""

    def score_biases(self, distance):
        m = self.config.model
        half = m["sandwich_width"] // 2
        pairs = torch.arange(half, device=distance.device, dtype=torch.float64)
        table = (torch.arange(int(distance.max()) + 1, device=distance.device).double().unsqueeze(1)
                 * 10000 ** (-pairs / half)).cos().sum(-1)
        heads = torch.arange(1, m["heads"] + 1, device=distance.device, dtype=torch.float64)
        bias = (m["heads"] / (8 * heads)).view(-1, 1, 1) * table[distance.clamp_min(0)]
        return [bias.float()] * m["layers"]
)py";

}  // namespace

const PositionMethod kSandwichPositions = {
    .add_fields = add_fields,
    .check = check,
    .counts_distances = true,
    .paper =
        "with the product of positions' sinusoids as attention bias (Sandwich, Chi et al. 2023, "
        "arXiv:2212.10356)",
    .python = kPython};

}  // namespace alibi
