// A learned bias for each bucket of distances (Raffel et al. 2020, section 2.1).
#include "base/strings.h"
#include "config/faults.h"
#include "config/field.h"
#include "config/model_config.h"

namespace alibi {
namespace {

void add_fields(Fields& f, ModelConfig& m) {
  const bool t5 = m.position == Position::kT5;
  add(f, "t5_buckets", &m.t5_buckets,
      "Distance buckets: half exact, half logarithmic, the last one open.")
      .range(2, 4096)
      .only_if(t5, "model.position is \"t5\"");
  add(f, "t5_max_distance", &m.t5_max_distance,
      "From this distance on all keys share the last bucket.")
      .range(2, 1 << 24)
      .only_if(t5, "model.position is \"t5\"");
  add(f, "t5_shared", &m.t5_shared, "One bias table for all layers instead of one each.")
      .only_if(t5, "model.position is \"t5\"");
}

void check(const ModelConfig& m, Faults& faults) {
  if (faults.sound({"/model/position", "/model/t5_max_distance", "/model/t5_buckets"}) &&
      m.t5_max_distance <= m.t5_buckets / 2) {
    faults.add("/model/t5_max_distance",
               cat("found ", m.t5_max_distance,
                   ", expected more than t5_buckets / 2 = ", m.t5_buckets / 2));
  }
}

std::vector<ParameterShape> parameters(const ModelConfig& m) {
  std::vector<ParameterShape> tables;
  for (std::int64_t i = 0; i < (m.t5_shared ? 1 : m.layers); ++i)
    tables.push_back({cat("buckets_", i), {m.t5_buckets, m.heads}});
  return tables;
}

constexpr const char* kPython = R"py(
class Positions(NoPositions):
    """A bias for each bucket of distances (Raffel et al. 2020)."""

    def make_positions(self, m):
        tables = 1 if m["t5_shared"] else m["layers"]
        self.buckets = nn.ModuleList(nn.Embedding(m["t5_buckets"], m["heads"]) for _ in range(tables))

    def score_biases(self, distance):
        m = self.config.model
        distance, buckets = distance.clamp_min(0), m["t5_buckets"]
        exact = buckets // 2  # buckets of one distance, then logarithmic, the last one open
        scale = (buckets - exact) / math.log(m["t5_max_distance"] / exact)
        far = exact + (torch.log(distance.clamp_min(exact).double() / exact) * scale + 1e-9).long()
        bucket = torch.where(distance < exact, distance, far.clamp_max(buckets - 1))
        biases = [table(bucket).float().permute(2, 0, 1) for table in self.buckets]
        return biases * (m["layers"] // len(biases))
)py";

}  // namespace

const PositionMethod kT5Positions = {.add_fields = add_fields,
                                     .check = check,
                                     .parameters = parameters,
                                     .counts_distances = true,
                                     .arithmetic_revision = 2,
                                     .python = kPython};

}  // namespace alibi
