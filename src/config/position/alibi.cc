// Attention with linear biases (Press et al. 2021): slope_h * (j - i) on each score.
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "config/config.h"
#include "config/faults.h"
#include "config/field.h"
#include "config/position/methods.h"
#include "config/seeds.h"

namespace alibi {
namespace {

void add_fields(Fields& f, ModelConfig& m) {
  const bool alibi = m.position == Position::kAlibi;
  const bool by_rule = alibi && m.slopes.empty();
  const char* rule_condition = "model.position is \"alibi\" and model.slopes is not given";
  add(f, "slope_rule", choice(m.slope_rule),
      "press: the reference order (powers of two geometric, others interleaved). geometric: "
      "2^(-bias_max h / heads). equal: that list's geometric mean for every head. exponential: "
      "drawn, with that list's mean.")
      .only_if(by_rule, rule_condition);
  add(f, "slope_bias_max", &m.slope_bias_max,
      "The last slope of a geometric list is 2^-slope_bias_max.")
      .range(0.01, 64)
      .only_if(by_rule, rule_condition);
  add(f, "slope_seed", &m.slope_seed, "Seed of the slopes that the exponential rule draws.")
      .range(0, kMostSeed)
      .only_if(by_rule && m.slope_rule == SlopeRule::kExponential,
               "model.slope_rule is \"exponential\" and model.slopes is not given");
  add(f, "biased_heads", &m.biased_heads,
      "Heads with a bias; the others have slope 0. Default: all.")
      .range(1, 1024)
      .only_if(by_rule && !m.learned_slopes,
               "model.position is \"alibi\", model.slopes is not given and model.learned_slopes is "
               "false");
  add(f, "slopes", &m.slopes, "One slope per head, instead of a rule.")
      .only_if(alibi, "model.position is \"alibi\"");
  add(f, "learned_slopes", &m.learned_slopes, "Train the slopes, from the rule's values.")
      .only_if(alibi, "model.position is \"alibi\"");
}

constexpr double kSteepest = 1000;  // beyond it a head sees its own token only, and bias overflows

void check(const ModelConfig& m, Faults& faults) {
  if (faults.sound({"/model/slopes", "/model/heads"}) && !m.slopes.empty() &&
      std::ssize(m.slopes) != m.heads) {
    faults.add("/model/slopes", cat("found ", m.slopes.size(), " slopes, expected one for each of ",
                                    m.heads, " heads"));
  }
  for (std::size_t h = 0; h < m.slopes.size(); ++h) {
    if (!(m.slopes[h] > 0)) {
      faults.add(cat("/model/slopes/", h),
                 cat("found ", m.slopes[h], ", expected a number above 0"),
                 "a slope of 0 or less would not favour near keys");
    } else if (m.slopes[h] > kSteepest) {
      faults.add(cat("/model/slopes/", h),
                 cat("found ", m.slopes[h], ", expected at most ", kSteepest));
    }
  }
  if (faults.sound({"/model/biased_heads", "/model/heads"}) &&
      m.biased_heads.value_or(1) > m.heads) {
    faults.add("/model/biased_heads",
               cat("found ", *m.biased_heads, ", expected at most heads ", m.heads));
  }
}

std::vector<std::string> advice(const Config& c) {
  std::vector<std::string> notes;
  const std::int64_t trained = batch_shape(c.batch).length;
  const std::int64_t length = c.batch.sequence_length;
  if (trained <= 128) {
    notes.push_back(
        cat("the trained length ", trained, " (batch.sequence_length ", length,
            " * train_sequence_length_scaling ", c.batch.train_sequence_length_scaling,
            ") is short for ALiBi: Composer measured clearly worse models at 128 or less"));
  } else if (trained <= std::max<std::int64_t>(256, length / 32)) {
    notes.push_back(
        cat("the trained length ", trained,
            " is at the lower end for ALiBi: Composer advises more than 256 and more than "
            "batch.sequence_length / 32 = ",
            length / 32, "; its best published result is at 256"));
  }
  for (const double slope : c.model.slopes) {
    if (slope >= 1) {
      notes.push_back(cat("model.slopes holds ", slope,
                          ": a slope of 1 or more leaves a head hardly more than the newest key"));
    }
  }
  return notes;
}

std::vector<ParameterShape> parameters(const ModelConfig& m) {
  if (!m.learned_slopes) return {};
  return {{"slopes", {m.heads}}};
}

// Other programs' slopes are fp32 powers of two: equal to ours but for rounding.
bool has_press_slopes(const ModelConfig& m, double bias_max) {
  const std::vector<double> ours = alibi_slopes(m);
  const std::vector<double> theirs = slopes_by_rule(SlopeRule::kPress, m.heads, bias_max);
  return std::equal(ours.begin(), ours.end(), theirs.begin(),
                    [](double our, double their) { return std::abs(our - their) <= 1e-6 * their; });
}

PositionForm form(const ModelConfig& m) {
  if (!m.learned_slopes) {
    for (const double bias_max : {8.0, m.slope_bias_max})
      if (has_press_slopes(m, bias_max)) return {PositionForm::kPressSlopes, bias_max};
  }
  return {PositionForm::kOtherSlopes};
}

bool stretches(const ModelConfig&, Stretch kind) {
  return kind == Stretch::kLinear || kind == Stretch::kNtk;
}

constexpr const char* kPython = R"py(
class Positions(NoPositions):
    """Linear biases (Press et al. 2021)."""

    def make_positions(self, m):
        if m["learned_slopes"]:
            self.slopes = nn.Parameter(torch.zeros(m["heads"]))

    def score_biases(self, distance):
        m = self.config.model
        slopes = self.slopes.float() if m["learned_slopes"] else torch.tensor(self.config.slopes, device=distance.device)
        return [-slopes.view(-1, 1, 1) * distance.float()] * m["layers"]
)py";

}  // namespace

const PositionMethod kAlibiPositions = {
    .add_fields = add_fields,
    .check = check,
    .advice = advice,
    .parameters = parameters,
    .slopes = alibi_slopes,
    .form = form,
    .stretches = stretches,
    .counts_distances = true,
    .paper =
        "with attention biases linear in distance (ALiBi, Press et al. 2021, arXiv:2108.12409)",
    .python = kPython};

}  // namespace alibi
