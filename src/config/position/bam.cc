// Bayesian attention: a bias that falls with the distance by a learned power (Bianchessi et al.
// 2025, arXiv:2505.22842, a generalized Gaussian prior without its location).
#include "config/model_config.h"

namespace alibi {
namespace {

std::vector<ParameterShape> parameters(const ModelConfig& m) {
  return {{"bam_scale", {m.heads}}, {"bam_shape", {m.heads}}};
}

constexpr const char* kPython = R"py(
class Positions(NoPositions):
    """A bias that falls with a learned power of the distance (Bianchessi et al. 2025)."""

    def make_positions(self, m):
        self.bam_scale = nn.Parameter(torch.zeros(m["heads"]))
        self.bam_shape = nn.Parameter(torch.zeros(m["heads"]))

    def score_biases(self, distance):
        past = distance.clamp_min(0).double() + 1e-5
        power = past ** self.bam_shape.double().view(-1, 1, 1)
        bias = -self.bam_scale.double().exp().view(-1, 1, 1) * power
        return [bias.float()] * self.config.model["layers"]
)py";

}  // namespace

const PositionMethod kBamPositions = {
    .parameters = parameters,
    .counts_distances = true,
    .paper =
        "with a learned attention bias that falls with a power of the distance (BAM, Bianchessi et "
        "al. 2025, arXiv:2505.22842)",
    .python = kPython};

}  // namespace alibi
