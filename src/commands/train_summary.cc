#include "commands/train_summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/files.h"
#include "base/strings.h"
#include "commands/found.h"
#include "config/key_pattern.h"
#include "config/lengths.h"
#include "device/device.h"
#include "device/gemm_rate.h"
#include "model/shapes.h"
#include "report/table.h"
#include "train/due.h"
#include "train/memory_plan.h"
#include "train/optimizer/schedule.h"

namespace alibi {
namespace {

std::string step_text(const Config& c, std::int64_t micro_batch_tokens) {
  const BatchShape shape = batch_shape(c.batch);
  std::string text = step_sequences_text(c.batch);
  if (c.batch.train_sequence_length_scaling != 1) {
    text += cat(" (", c.batch.sequences, " of ", c.batch.sequence_length, ", scaling ",
                c.batch.train_sequence_length_scaling,
                c.batch.draw == Draw::kRows ? ", each drawn by itself)" : ")");
  }
  const std::int64_t parts = shape.tokens() / micro_batch_tokens;
  if (parts > 1) text += cat(", in ", parts, " micro batches");
  return text + cat(", ", with_commas(shape.tokens()), " tokens");
}

std::string position_text(const Config& c, const GptImpl& model) {
  std::string text = name_of(c.model.position);
  const std::vector<double> slopes = model.slopes();
  if (slopes.empty()) return text;
  const auto [least, most] = std::minmax_element(slopes.begin(), slopes.end());
  const std::int64_t length = batch_shape(c.batch).length;
  const std::int64_t mask = c.model.heads * length * length * 4;
  return text + cat(", slopes ", significant(*most, 4), " ... ", significant(*least, 4),
                    c.model.learned_slopes ? cat(" (learned), ", c.model.heads, " parameters")
                                           : std::string(", no parameters"),
                    ", no table (a mask of ", c.model.heads, " x ", length, " x ", length,
                    " would take ", human_bytes(static_cast<double>(mask)), ")");
}

std::string token_counts_text(const PreparedText& text) {
  const std::int64_t tokens = text.train.size(), learned = text.train.target_count();
  return cat(
      with_commas(tokens), " tokens to train on",
      learned < tokens ? cat(" (", with_commas(learned), " learned, the others prompts)") : "",
      ", ", with_commas(text.valid.size()), " held out");
}

std::string keys_text(const ModelConfig& model, std::int64_t length) {
  if (model.attention_pattern.empty()) return "";
  return cat("; keys: ", join(model.attention_pattern, ", "),
             hides_keys_within(model, length)
                 ? ""
                 : cat(" (no key hidden within the ", length, " trained tokens)"));
}

// The attention kernel, and why no faster one.
std::string attention_text(const Config& c, const GptImpl& model, torch::Device device) {
  const BatchShape shape = batch_shape(c.batch);
  const BatchForm batch{shape.rows, shape.length, true, c.data.separate_documents};
  const std::string kernel = model.attention_kernel(batch, device);
  std::string why;
  if (device.is_cuda())
    why = model.why_no_device_kernel(batch, device);
  else if (kernel == "reference")
    why = "the only one listed that supports this model";
  return cat("kernel ", kernel, why.empty() ? "" : cat(" (", why, ")"),
             keys_text(c.model, shape.length));
}

double training_operations(const Config& c, const GptImpl& model) {
  const TokenOperations each =
      token_operations(model.config(), model.vocabulary(), batch_shape(c.batch).length);
  return each.linear + each.head + each.attention;
}

enum class Ending { kSchedule, kPatience, kDeadline, kSignal };

constexpr auto enum_names(Ending) {
  return std::array{"schedule", "patience", "deadline", "signal"};
}

Ending ending_of(const TrainEnd& end) {
  if (end.signal != 0) return Ending::kSignal;
  if (end.progress.step >= total_steps(end.config)) return Ending::kSchedule;
  return is_out_of_patience(end.config, end.progress) ? Ending::kPatience : Ending::kDeadline;
}

// Where the schedule was when the deadline ended it.
std::string at_deadline(const Config& c, const Progress& p) {
  if (p.tokens < c.schedule.warmup_tokens) return "in its warm-up";
  const double share =
      learning_rate(c.schedule, c.optimizer.learning_rate, *c.run.train_tokens, p.tokens) /
      c.optimizer.learning_rate;
  return cat("with its rate at ", significant(100 * share, 2), " % of the highest");
}

// Where much of it was: the budget was planned by slower steps than the run's, or its tokens were
// given.
std::string left_of_budget(const Config& c, const Progress& p) {
  constexpr double kShare = 0.1;
  if (!c.run.train_seconds) return "";
  const double left = *c.run.train_seconds - p.train_seconds;
  if (left < kShare * *c.run.train_seconds) return "";
  return cat(": ", human_seconds(left), " of run.train_seconds were left");
}

// What ended a run before its schedule did, or before its time was over.
std::string early_end_text(const TrainEnd& end) {
  const Progress& p = end.progress;
  switch (ending_of(end)) {
    case Ending::kPatience:
      return cat(": run.patience ended it within its schedule, after ",
                 p.evaluations_without_improvement, " validations without improvement");
    case Ending::kDeadline:
      return ": run.train_seconds were over before its schedule was, " + at_deadline(end.config, p);
    case Ending::kSchedule:
      return left_of_budget(end.config, p);
    case Ending::kSignal:
      return "";
  }
  return "";
}

// By the bytes of all held-out text, of which validations may see a part; not a number where these
// are not known, as of tokens that came without text, or are not the targets' alone.
double best_bits_per_byte(const TrainEnd& end) {
  const auto bytes = static_cast<double>(end.valid.bytes);
  const auto tokens = static_cast<double>(end.valid.tokens);
  const double loss = end.progress.best_validation_loss;
  return bytes > 0 && end.valid.unknown == 0 && !end.valid_prompts && std::isfinite(loss)
             ? loss / std::numbers::ln2 * tokens / bytes
             : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

TrainPlan plan_training(const Config& config, Trainer& trainer, const TrainerParts& parts) {
  return {.steps = total_steps(config),
          .tokens_per_step = batch_shape(config.batch).tokens(),
          .gemm_rate = measure_gemm_rate(parts.device, activation_type(config.runtime.precision),
                                         trainer.micro_batch_tokens(), config.model.width),
          .operations_per_token = training_operations(config, *trainer.model()),
          .parameters = trainer.model()->parameter_count(),
          .micro_batch_tokens = trainer.micro_batch_tokens(),
          .ranks = parts.world.size(),
          .deadline = parts.deadline};
}

std::string start_summary(const Config& c, const PreparedText& text, const GptImpl& model,
                          const TrainPlan& plan, torch::Device device) {
  const double total = static_cast<double>(plan.steps * plan.tokens_per_step);
  const double passes = total / static_cast<double>(text.train.size());
  return format_pairs(
      {{"model",
        cat(human_count(static_cast<double>(plan.parameters)), " parameters: ", c.model.layers,
            " layers, width ", c.model.width, ", ", c.model.heads, " heads, vocabulary ",
            model.vocabulary(), c.model.reversible ? ", reversible" : "")},
       {"positions", position_text(c, model)},
       {"text", token_counts_text(text)},
       {"step", step_text(c, plan.micro_batch_tokens)},
       {"run",
        cat(with_commas(plan.steps), " steps, ", with_commas(plan.steps * plan.tokens_per_step),
            " tokens (", passes < 10 ? significant(passes, 2) : with_commas(std::llround(passes)),
            " times the text)")},
       {"device", describe_device(device)},
       {"precision", describe_precision(c.runtime.precision)},
       {"attention", attention_text(c, model, device)},
       {"matrix rate", with_commas(std::llround(plan.gemm_rate / 1e9)) + " GFLOP/s measured"},
       {"memory",
        human_bytes(static_cast<double>(
            estimate_memory(c, model.vocabulary(), plan.micro_batch_tokens, plan.ranks).total())) +
            " estimated"}});
}

std::string end_summary(const TrainEnd& end) {
  const Progress& p = end.progress;
  std::vector<std::pair<std::string, std::string>> pairs = {
      {end.signal == 0 ? "finished" : "stopped",
       cat("step ", p.step, " of ", total_steps(end.config), ", ", with_commas(p.tokens),
           " tokens, ", human_seconds(end.seconds), " of training", early_end_text(end))}};
  if (std::isfinite(p.best_validation_loss)) {
    const double bits = best_bits_per_byte(end);
    pairs.emplace_back("best",
                       cat("validation loss ", fixed(p.best_validation_loss, 4), ", perplexity ",
                           perplexity_text(p.best_validation_loss),
                           std::isfinite(bits) ? cat(", ", fixed(bits, 3), " bits per byte") : "",
                           ", at step ", p.best_step));
  }
  if (p.skipped_steps > 0)
    pairs.emplace_back("skipped", cat(p.skipped_steps, " steps did not reach the weights"));
  pairs.emplace_back("memory", human_bytes(static_cast<double>(end.memory)) + " at most");
  pairs.emplace_back("written", without_slash(end.config.run.folder).string());
  return format_pairs(pairs);
}

Json end_document(const TrainEnd& end) {
  const Progress& p = end.progress;
  const bool validated = std::isfinite(p.best_validation_loss);
  return document("training", {{"folder", without_slash(end.config.run.folder).string()},
                               {"state", end.signal == 0 ? "finished" : "stopped"},
                               {"ended_by", name_of(ending_of(end))},
                               {"step", p.step},
                               {"steps", total_steps(end.config)},
                               {"tokens", p.tokens},
                               {"skipped_steps", p.skipped_steps},
                               {"seconds", end.seconds},
                               {"peak_memory_bytes", end.memory},
                               {"best_step", validated ? Json(p.best_step) : Json()},
                               {"best_validation_loss", p.best_validation_loss},
                               {"best_bits_per_byte", best_bits_per_byte(end)}});
}

}  // namespace alibi
