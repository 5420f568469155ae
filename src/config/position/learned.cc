// A table of positions added to the embeddings, learned with the model; it ends at its last row.
#include "config/model_config.h"

namespace alibi {
namespace {

std::vector<ParameterShape> parameters(const ModelConfig& m) {
  return {{"positions", {m.max_sequence_length.value_or(0), m.width}}};
}

PositionForm form(const ModelConfig& m) {
  return {.kind = PositionForm::kTable, .rows = m.max_sequence_length.value_or(0)};
}

constexpr const char* kPython = R"py(
class Positions(NoPositions):
    """A learned table, added to the embeddings."""

    def make_positions(self, m):
        self.positions = nn.Embedding(m["max_sequence_length"], m["width"])

    def embed_positions(self, x, positions):
        rows = self.config.model["max_sequence_length"]
        if positions.max() >= rows:
            raise ValueError(f"found position {positions.max().item()}, expected at most {rows - 1}: learned positions end at their table")
        return x + self.positions(positions)
)py";

}  // namespace

const PositionMethod kLearnedPositions = {
    .parameters = parameters, .form = form, .has_table = true, .python = kPython};

}  // namespace alibi
