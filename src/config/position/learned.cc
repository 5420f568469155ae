// A table of positions added to the embeddings, learned with the model; it ends at its last row.
#include "base/strings.h"
#include "config/faults.h"
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

void check_length(const ModelConfig& m, std::int64_t trained_length, Faults& faults) {
  if (!faults.sound({"/model/max_sequence_length"}) ||
      m.max_sequence_length.value_or(trained_length) >= trained_length)
    return;
  faults.add("/model/max_sequence_length",
             cat("found ", *m.max_sequence_length, ", expected at least the trained length ",
                 trained_length));
}

void resolve(ModelConfig& m, std::int64_t trained_length) {
  if (!m.max_sequence_length) m.max_sequence_length = trained_length;
}

}  // namespace

const PositionMethod kLearnedPositions = {.check_length = check_length,
                                          .resolve = resolve,
                                          .parameters = parameters,
                                          .form = form,
                                          .has_table = true,
                                          .python = kPython};

}  // namespace alibi
