// A learned bias that falls with the distance by a kernel (Chi et al. 2022, section 4).
#include "base/strings.h"
#include "config/field.h"
#include "config/model_config.h"

namespace alibi {
namespace {

void add_fields(Fields& f, ModelConfig& m) {
  add(f, "kerple_kernel", choice(m.kerple_kernel),
      "At distance d, with r1 and r2 learned for each head. log: -r1 log(1 + r2 d). power: -r1 "
      "d^r2, "
      "which is alibi's line at step 0.")
      .only_if(m.position == Position::kKerple, "model.position is \"kerple\"");
}

std::vector<ParameterShape> parameters(const ModelConfig& m) {
  return {{"kerple_r1", {m.heads}}, {"kerple_r2", {m.heads}}};
}

constexpr const char* kPython = R"py(
class Positions(NoPositions):
    """A bias that falls with the distance by a learned kernel (Chi et al. 2022)."""

    def make_positions(self, m):
        self.kerple_r1 = nn.Parameter(torch.zeros(m["heads"]))
        self.kerple_r2 = nn.Parameter(torch.zeros(m["heads"]))

    def score_biases(self, distance):
        m = self.config.model
        distance = distance.clamp_min(0).double()
        r1 = self.kerple_r1.double().exp().view(-1, 1, 1)
        r2 = self.kerple_r2.double().view(-1, 1, 1)
        if m["kerple_kernel"] == "log":
            bias = -r1 * torch.log1p(r2.exp() * distance)
        else:
            bias = -r1 * torch.where(distance > 0, distance.clamp_min(1) ** (2 * torch.sigmoid(r2)), distance)
        return [bias.float()] * m["layers"]
)py";

}  // namespace

const PositionMethod kKerplePositions = {
    .add_fields = add_fields,
    .parameters = parameters,
    .counts_distances = true,
    .paper =
        "with a learned attention bias that falls with the distance (KERPLE, Chi et al. 2022, "
        "arXiv:2205.09921)",
    .python = kPython};

}  // namespace alibi
