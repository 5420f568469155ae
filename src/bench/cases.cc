#include "bench/cases.h"

#include "base/strings.h"
#include "config/config.h"
#include "device/libtorch.h"

namespace alibi {

std::string AttentionCase::text() const {
  return cat(sequences, " x ", length, ", ", heads, " heads of ", head_width, ", ",
             type == torch::kBFloat16 ? "bf16" : "fp32");
}

AttentionInputs make_attention_inputs(const AttentionCase& c, std::uint64_t seed) {
  const std::int64_t heads = c.heads + 2 * c.key_value_heads;
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  const torch::Tensor fused =
      torch::randn({c.sequences, c.length, heads, c.head_width}, generator).to(c.type);
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return fused.narrow(2, first, count).transpose(1, 2);
  };
  AttentionInputs inputs{part(0, c.heads), part(c.heads, c.key_value_heads),
                         part(c.heads + c.key_value_heads, c.key_value_heads), ScoreOptions{}};
  ModelConfig model;
  model.heads = c.heads;
  inputs.options.bias.slopes_H = torch::tensor(alibi_slopes(model), torch::kFloat);
  inputs.options.scale = 1 / std::sqrt(static_cast<double>(c.head_width));
  return inputs;
}

std::vector<AttentionCase> measured_cases(const AttentionCase& heads,
                                          const std::vector<std::int64_t>& lengths,
                                          std::int64_t tokens) {
  std::vector<AttentionCase> cases;
  for (const std::int64_t length : lengths) {
    cases.push_back(heads);
    cases.back().length = length;
    cases.back().sequences = std::max<std::int64_t>(1, tokens / length);
  }
  return cases;
}

double attention_operations(const AttentionCase& c, bool backward) {
  const double pairs = static_cast<double>(c.sequences * c.heads) * static_cast<double>(c.length) *
                       static_cast<double>(c.length + 1) / 2;
  return pairs * static_cast<double>(c.head_width) * 2 * (backward ? 7 : 2);
}

}  // namespace alibi
