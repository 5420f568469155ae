#include "commands/inspect_model.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/strings.h"
#include "checkpoint/load_model.h"
#include "config/load.h"
#include "model/shapes.h"
#include "report/table.h"
#include "train/optimizer/optimizer.h"

namespace alibi {
namespace {

std::string slope_text(const std::vector<double>& slopes) {
  std::vector<std::string> parts;
  for (const double slope : slopes) parts.push_back(significant(slope, 4));
  return parts.empty() ? "none" : join(parts, ", ");
}

}  // namespace

Found describe_model(const Config& c) {
  Table table{{{"parameter"}, {"shape"}, {"count", Align::kRight}, {"fp32 bytes", Align::kRight}},
              {}};
  std::int64_t total = 0, optimizer = 0;
  Json parameters = Json::list();
  for (const ParameterShape& parameter : parameter_shapes(c.model, c.tokenizer.vocabulary)) {
    total += parameter.count();
    optimizer += optimizer_state_bytes(c.optimizer, parameter);
    table.rows.push_back({parameter.name, shape_text(parameter.sizes),
                          with_commas(parameter.count()),
                          human_bytes(4.0 * static_cast<double>(parameter.count()))});
    parameters.push_back(
        {{"name", parameter.name}, {"shape", parameter.sizes}, {"count", parameter.count()}});
  }
  table.rows.push_back({});
  table.rows.push_back(
      {"all", "", with_commas(total), human_bytes(4.0 * static_cast<double>(total))});
  const std::int64_t cache =
      2 * c.model.layers * *c.model.key_value_heads * (c.model.width / c.model.heads);
  const std::int64_t state = 8 * total + optimizer;
  const std::vector<double> slopes = initial_slopes(c.model);
  return {
      format_table(table) +
          format_pairs(
              {{"positions", name_of(c.model.position)},
               {"slopes", slope_text(slopes)},
               {"keys seen", c.model.attention_pattern.empty()
                                 ? "all earlier ones"
                                 : join(c.model.attention_pattern, ", ")},
               {"training state",
                human_bytes(static_cast<double>(state)) + " (weights, gradients, optimizer)"},
               {"cache per token", cat(human_bytes(2.0 * static_cast<double>(cache)), " in bf16, ",
                                       human_bytes(4.0 * static_cast<double>(cache)), " in fp32")},
               {"length limit", c.model.max_sequence_length ? cat(*c.model.max_sequence_length)
                                                            : std::string("none")}}),
      document("model",
               {{"position", name_of(c.model.position)},
                {"slopes", slopes},
                {"attention_pattern", c.model.attention_pattern},
                {"parameters", total},
                {"training_state_bytes", state},
                {"cache_numbers_per_token", cache},
                {"length_limit",
                 c.model.max_sequence_length ? Json(*c.model.max_sequence_length) : Json()},
                {"tensors", std::move(parameters)}})};
}

Found describe_checkpoint(const std::filesystem::path& given) {
  const std::filesystem::path folder = resolve_checkpoint(given);
  const Checkpoint checkpoint = load_checkpoint(folder, Load::kAll);
  Table table{{{"tensor"}, {"shape"}, {"type"}, {"root mean square", Align::kRight}}, {}};
  Json tensors = Json::list();
  for (const auto& [name, tensor] : checkpoint.weights) {
    const double rms = tensor.to(torch::kDouble).square().mean().sqrt().item<double>();
    tensors.push_back({{"name", name},
                       {"shape", tensor.sizes().vec()},
                       {"type", c10::toString(tensor.scalar_type())},
                       {"root_mean_square", rms}});
    table.rows.push_back({name, shape_text(tensor.sizes()), c10::toString(tensor.scalar_type()),
                          significant(rms, 4)});
  }
  const Progress& p = checkpoint.progress;
  const bool measured = std::isfinite(p.best_validation_loss);
  const std::string tokenizer = checkpoint.tokenizer_model.empty()
                                    ? "bytes"
                                    : Tokenizer::file_name(checkpoint.tokenizer_model);
  return {format_table(table) +
              format_pairs(
                  {{"folder", folder.string()},
                   {"step", with_commas(p.step)},
                   {"tokens", with_commas(p.tokens)},
                   {"best validation loss",
                    measured ? cat(fixed(p.best_validation_loss, 4), " at step ", p.best_step)
                             : "none yet"},
                   {"finished", p.finished ? "yes" : "no"},
                   {"tokenizer",
                    checkpoint.tokenizer_model.empty()
                        ? tokenizer
                        : cat(tokenizer, ", ",
                              human_bytes(static_cast<double>(checkpoint.tokenizer_model.size())))},
                   {"run identity", checkpoint.identity},
                   {"checksums", "all match"}}),
          document("checkpoint",
                   {{"folder", folder.string()},
                    {"step", p.step},
                    {"tokens", p.tokens},
                    {"best_validation_loss", measured ? Json(p.best_validation_loss) : Json()},
                    {"best_step", measured ? Json(p.best_step) : Json()},
                    {"finished", p.finished},
                    {"tokenizer", tokenizer},
                    {"identity", checkpoint.identity},
                    {"tensors", std::move(tensors)}})};
}

}  // namespace alibi
