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
  const bool scales = m.rotary_scaling != Stretch::kNone;
  add(f, "rotary_scaling", choice(m.rotary_scaling),
      "Position interpolation in training and evaluation (evaluate.stretch: in evaluation alone), "
      "for a rotary model that is trained on with longer sequences (initialize.from).")
      .counts_if(scales)
      .only_if(m.position == Position::kRotary, "model.position is \"rotary\"");
  const bool scaled = m.position == Position::kRotary && scales;
  const char* condition = "model.position is \"rotary\" and model.rotary_scaling is not \"none\"";
  add(f, "rotary_original_length", &m.rotary_original_length,
      "The trained length before any scaling. Required: the factor, and yarn, come from it.")
      .range(1, 1 << 24)
      .counts_if(scales)
      .only_if(scaled, condition);
  add(f, "rotary_scaling_factor", &m.rotary_scaling_factor,
      "How many times longer sequences are. Default: trained length / rotary_original_length.")
      .range(1.001, 1e6)
      .counts_if(scales)
      .only_if(scaled, condition);
}

void check(const ModelConfig& m, Faults& faults) {
  if (faults.sound({"/model/width", "/model/heads", "/model/position"}) &&
      (m.width / m.heads) % 2 != 0) {
    faults.add("/model/position",
               cat("rotary turns pairs, but the head width ", m.width / m.heads, " is odd"),
               "choose an even width / heads");
  }
}

// A scaling that changes nothing is refused, and one by less than the sequences need.
void check_length(const ModelConfig& m, std::int64_t trained_length, Faults& faults) {
  if (m.rotary_scaling == Stretch::kNone ||
      !faults.sound({"/model/rotary_scaling", "/model/rotary_original_length",
                     "/model/rotary_scaling_factor"}))
    return;
  if (!m.rotary_original_length) {
    faults.add("/model/rotary_original_length",
               cat("is missing, and model.rotary_scaling is ", name_of(m.rotary_scaling)),
               "give the trained length of the model that goes on, before any scaling");
    return;
  }
  const auto trained = static_cast<double>(trained_length),
             original = static_cast<double>(*m.rotary_original_length);
  if (!m.rotary_scaling_factor && trained <= original) {
    faults.add("/model/rotary_original_length",
               cat("found ", *m.rotary_original_length, ", but sequences of ", trained_length,
                   " are no longer than that: nothing would be scaled"),
               "give longer sequences (batch.sequence_length, train_sequence_length_scaling), or "
               "model.rotary_scaling_factor");
  }
  if (m.rotary_scaling_factor && trained > *m.rotary_scaling_factor * original) {
    faults.add("/model/rotary_scaling_factor",
               cat("found ", significant(*m.rotary_scaling_factor, 4), ", but sequences of ",
                   trained_length, " are longer than that times rotary_original_length ",
                   *m.rotary_original_length),
               "leave it out, or give shorter sequences");
  }
}

void resolve(ModelConfig& m, std::int64_t trained_length) {
  if (m.rotary_scaling == Stretch::kNone || m.rotary_scaling_factor) return;
  m.rotary_scaling_factor =
      static_cast<double>(trained_length) / static_cast<double>(*m.rotary_original_length);
}

bool stretches(const ModelConfig& m, Stretch) { return m.rotary_scaling == Stretch::kNone; }

constexpr const char* kPython = R"py(
class Positions(NoPositions):
    """Pairs (c, c + D/2) of queries and keys turned by their position (Su et al. 2021)."""

    @staticmethod
    def turn(m, x, positions):
        half = x.size(-1) // 2
        scaling, factor, magnitude = m.get("rotary_scaling", "none"), m.get("rotary_scaling_factor", 1), 1.0
        base = m["rotary_base"] * (factor ** (half / (half - 1)) if scaling == "ntk" and half > 1 else 1)
        frequencies = base ** (torch.arange(half, device=x.device, dtype=torch.float64) / -half)
        if scaling == "linear" or (scaling == "ntk" and half == 1):
            frequencies /= factor
        elif scaling == "yarn":  # Peng et al. 2023, section 3
            kept = ((m["rotary_original_length"] * frequencies / (2 * math.pi) - 1) / 31).clamp(0, 1)
            frequencies *= kept + (1 - kept) / factor
            magnitude += 0.1 * math.log(factor)
        frequencies[int(m.get("rotary_share", 1) * half + 0.5):] = 0
        angles = (positions.double().unsqueeze(-1) * frequencies).unsqueeze(1)
        cos, sin = (magnitude * angles.cos()).float(), (magnitude * angles.sin()).float()
        first, second = x.float().chunk(2, -1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).to(x.dtype)
)py";

}  // namespace

const PositionMethod kRotaryPositions = {.add_fields = add_fields,
                                         .check = check,
                                         .check_length = check_length,
                                         .resolve = resolve,
                                         .stretches = stretches,
                                         .python = kPython};

}  // namespace alibi
