// Queries and keys turned by their position (Su et al. 2021).
#include "base/strings.h"
#include "config/evaluation_config.h"
#include "config/faults.h"
#include "config/field.h"
#include "config/model_config.h"

namespace alibi {
namespace {

void add_fields(Fields& f, ModelConfig& m) {
  add(f, "rotary_base", &m.rotary_base, "Base of the rotary frequencies.")
      .range(1.001, 1e12)
      .only_if(m.position == Position::kRotary, "model.position is \"rotary\"");
  add(f, "rotary_share", &m.rotary_share,
      "Share of the pairs that turn, the fastest first; the others know no position (p-RoPE, "
      "Barbero et al. 2025).")
      .range(0, 1)
      .counts_if(m.rotary_share != 1)
      .only_if(m.position == Position::kRotary, "model.position is \"rotary\"");
}

void check(const ModelConfig& m, Faults& faults) {
  if (faults.sound({"/model/width", "/model/heads", "/model/position"}) &&
      (m.width / m.heads) % 2 != 0) {
    faults.add("/model/position",
               cat("rotary turns pairs, but the head width ", m.width / m.heads, " is odd"),
               "choose an even width / heads");
  }
}

bool stretches(Stretch) { return true; }

constexpr const char* kPython = R"py(
class Positions(NoPositions):
    """Pairs (c, c + D/2) of queries and keys turned by their position (Su et al. 2021)."""

    @staticmethod
    def turn(m, x, positions):
        half = x.size(-1) // 2
        frequencies = m["rotary_base"] ** (torch.arange(half, device=x.device, dtype=torch.float64) / -half)
        frequencies[int(m.get("rotary_share", 1) * half + 0.5):] = 0
        angles = (positions.double().unsqueeze(-1) * frequencies).unsqueeze(1)
        cos, sin = angles.cos().float(), angles.sin().float()
        first, second = x.float().chunk(2, -1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).to(x.dtype)
)py";

}  // namespace

const PositionMethod kRotaryPositions = {
    .add_fields = add_fields, .check = check, .stretches = stretches, .python = kPython};

}  // namespace alibi
