#include "commands/inspect_memory.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "device/device.h"
#include "device/memory.h"
#include "report/table.h"
#include "train/memory_plan.h"

namespace alibi {
namespace {

std::string bytes_text(std::int64_t bytes) { return human_bytes(static_cast<double>(bytes)); }

// The same run, trained on sequences of `length` without a reshape.
Config of_length(Config c, std::int64_t length, Recompute recompute) {
  c.batch.sequence_length = length;
  c.batch.train_sequence_length_scaling = 1;
  c.batch.length_mixture.clear();
  if (c.model.max_sequence_length) c.model.max_sequence_length = length;
  c.runtime.recompute = recompute;
  return c;
}

// The most sequences of one forward and backward pass that stay within the limit.
std::int64_t most_sequences(const Config& c, std::int64_t limit) {
  const auto fits = [&](std::int64_t sequences) {
    return estimate_memory(c, c.tokenizer.vocabulary, sequences * c.batch.sequence_length)
               .bound() <= limit;
  };
  std::int64_t fitting = 0, step = 1;
  while (fits(fitting + step) && step < (std::int64_t{1} << 40)) step *= 2;
  for (; step > 0; step /= 2) {
    if (fits(fitting + step)) fitting += step;
  }
  return fitting;
}

struct Fitting {
  std::int64_t sequences = 0, tokens = 0, bytes = 0;  // of the largest micro batch
};

Fitting largest_fitting(const Config& c, std::int64_t length, std::int64_t limit) {
  const std::int64_t sequences = most_sequences(c, limit), tokens = sequences * length;
  return {sequences, tokens, estimate_memory(c, c.tokenizer.vocabulary, tokens).total()};
}

Json fitting_value(const Fitting& fitting) {
  return {{"sequences", fitting.sequences},
          {"tokens", fitting.tokens},
          {"bytes", fitting.sequences > 0 ? Json(fitting.bytes) : Json()}};
}

// A row of the table and of the document.
void add_length(const Config& c, std::int64_t length, std::int64_t limit, Table& table,
                Json& lengths) {
  std::vector<std::string> row{with_commas(length)};
  Json value = {{"length", length}};
  for (const auto& [recompute, name] : {std::pair(Recompute::kNone, "largest"),
                                        std::pair(Recompute::kBlocks, "with_recompute_blocks")}) {
    const Fitting fitting = largest_fitting(of_length(c, length, recompute), length, limit);
    row.push_back(with_commas(fitting.sequences));
    row.push_back(with_commas(fitting.tokens));
    row.push_back(fitting.sequences > 0 ? bytes_text(fitting.bytes) : "does not fit");
    value.append(name, fitting_value(fitting));
  }
  table.rows.push_back(std::move(row));
  lengths.push_back(std::move(value));
}

Json parts_value(const MemoryParts& parts) {
  return {{"program", parts.program},         {"weights", parts.weights},
          {"gradients", parts.gradients},     {"optimizer", parts.optimizer},
          {"saving", parts.saving},           {"packed", parts.packed},
          {"activations", parts.activations}, {"loss", parts.loss},
          {"exchange", parts.exchange},       {"graph", parts.graph}};
}

}  // namespace

Found describe_memory(const Config& given, const std::vector<std::int64_t>& lengths,
                      std::int64_t limit_bytes) {
  Config c = given;
  const torch::Device device = open_device(c.runtime.device);
  c.runtime.precision = resolve_precision(c.runtime.precision, device);
  const MemoryLimit limit =
      limit_bytes > 0 ? MemoryLimit{limit_bytes, "--limit"} : training_memory_limit(c, device);
  const MemoryParts parts =
      estimate_memory(c, c.tokenizer.vocabulary, micro_batch_tokens_of(c.batch));
  Table table{{{"trained length", Align::kRight},
               {"largest micro batch, sequences", Align::kRight},
               {"tokens", Align::kRight},
               {"estimate", Align::kRight},
               {"with recompute=blocks, sequences", Align::kRight},
               {"tokens", Align::kRight},
               {"estimate", Align::kRight}},
              {}};
  Json rows = Json::list();
  for (const std::int64_t length : lengths) add_length(c, length, limit.bytes, table, rows);
  return {
      format_pairs({{"as configured", cat(bytes_text(parts.total()), " in micro batches of ",
                                          with_commas(micro_batch_tokens_of(c.batch)), " tokens")},
                    {"parts", describe_parts(parts)},
                    {"vocabulary", cat(c.tokenizer.vocabulary, " (tokenizer.vocabulary)")},
                    {"precision", describe_precision(c.runtime.precision)},
                    {"limit", cat(bytes_text(limit.bytes), ", ", limit.source,
                                  "; an eighth of each estimate is kept free")}}) +
          "\n" + format_table(table),
      document("memory", {{"bytes", parts.total()},
                          {"micro_batch_tokens", micro_batch_tokens_of(c.batch)},
                          {"parts", parts_value(parts)},
                          {"vocabulary", c.tokenizer.vocabulary},
                          {"precision", name_of(c.runtime.precision)},
                          {"limit_bytes", limit.bytes},
                          {"limit_source", limit.source},
                          {"lengths", std::move(rows)}})};
}

}  // namespace alibi
