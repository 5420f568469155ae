#include "train/validator.h"

#include "base/stop.h"
#include "device/memory.h"
#include "evaluate/score.h"

namespace alibi {

TextSample validation_sample(const Config& config, const PreparedText& text) {
  return sample_tokens(text.valid, {.window = batch_shape(config.batch).length,
                                    .most = config.run.validation_tokens});
}

Validator::Validator(const Config& config, const PreparedText& text, torch::Device device,
                     TrainState& state, Agreement& agreement)
    : config_(config),
      end_(text.tokenizer.end()),
      device_(device),
      state_(state),
      agreement_(agreement),
      text_(validation_sample(config, text)) {}

// Ranks score every n-th batch each. A signal to one of them cuts all off, and memory that runs out
// on one makes the batches of all smaller.
std::optional<double> Validator::loss(std::int64_t batch_tokens) {
  struct Stopped {};
  World& world = agreement_.world();
  const std::int64_t length = batch_shape(config_.batch).length;
  const auto windows = windows_of(text_, length);
  ScoringOptions options;
  options.batch_tokens = batch_tokens;
  options.chunk_rows = config_.runtime.loss_chunk_rows;
  options.mlp_chunk_rows = config_.runtime.mlp_chunk_rows;
  options.separate_documents = config_.data.separate_documents;
  options.end = end_;
  options.device = device_;
  options.share = {world.rank(), world.size()};
  options.progress = [](std::int64_t) {
    if (stop_signal() != 0) throw Stopped();
  };
  for (;; options.batch_tokens /= 2) {
    std::vector<float> losses;
    bool fits = true, stopped = false;
    world.while_others_wait([&] {  // one that is stopped waits for the others' last batches
      try {
        losses = score(state_.model, text_.ids, windows, options);
      } catch (const Stopped&) {
        stopped = true;
      } catch (const std::exception& error) {
        if (!is_out_of_memory(error) || options.batch_tokens <= length) throw;
        fits = false;
      }
    });
    if (!agreement_.everywhere(!stopped)) return std::nullopt;
    if (!agreement_.everywhere(fits)) continue;
    sum_over_ranks(losses, world);
    return mean_of(scored_losses(text_, losses));
  }
}

std::optional<ValidationRecord> Validator::validate(std::int64_t batch_tokens) {
  const std::optional<double> loss = this->loss(batch_tokens);
  if (!loss) return std::nullopt;
  Progress& progress = state_.progress;
  const bool best = *loss < progress.best_validation_loss;
  if (best) {
    progress.best_validation_loss = *loss;
    progress.best_step = progress.step;
    progress.evaluations_without_improvement = 0;
  } else {
    ++progress.evaluations_without_improvement;
  }
  progress.validated_step = progress.step;
  return ValidationRecord{.step = progress.step,
                          .tokens = progress.tokens,
                          .validation_loss = *loss,
                          .best = best,
                          .peak_memory_bytes = peak_memory_bytes(device_)};
}

}  // namespace alibi
