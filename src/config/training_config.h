// The keys of text, batches, optimizer and run.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.h"

namespace alibi {

enum class TokenizerKind { kBpe, kBytes };
constexpr auto enum_names(TokenizerKind) { return std::array{"bpe", "bytes"}; }
enum class OptimizerAlgorithm { kAdamW, kMuon, kNorMuon, kMud };
constexpr auto enum_names(OptimizerAlgorithm) {
  return std::array{"adamw", "muon", "normuon", "mud"};
}
enum class ScheduleKind { kCosine, kLinear, kConstant, kWsd };
constexpr auto enum_names(ScheduleKind) {
  return std::array{"cosine", "linear", "constant", "wsd"};
}
enum class NonFinite { kStop, kSkip, kRollBack };
constexpr auto enum_names(NonFinite) { return std::array{"stop", "skip", "roll_back"}; }
enum class Spikes { kIgnore, kStop, kSkip, kRollBack };
constexpr auto enum_names(Spikes) { return std::array{"ignore", "stop", "skip", "roll_back"}; }
enum class FailedSave { kStop, kWarn };
constexpr auto enum_names(FailedSave) { return std::array{"stop", "warn"}; }
enum class Reduce { kExact, kFast };
constexpr auto enum_names(Reduce) { return std::array{"exact", "fast"}; }

enum class Draw { kSequences, kRows };
constexpr auto enum_names(Draw) { return std::array{"sequences", "rows"}; }

struct BatchConfig {
  std::int64_t sequence_length = 512;              // L
  std::int64_t sequences = 8;                      // B
  double train_sequence_length_scaling = 1.0;      // s in {1, 1/2, 1/4, ...}
  Draw draw = Draw::kSequences;                    // what lies together in the text
  std::vector<double> length_mixture;              // empty: every step has the one scaling s
  std::optional<std::int64_t> micro_batch_tokens;  // the whole batch
  // K, absent where it is 1: the sums of a step do not depend on how many processes share K lanes.
  std::optional<std::int64_t> lanes;
};

struct DataConfig {
  std::vector<std::string> train;  // .txt, .jsonl, folders, or one folder made by `prepare`
  std::vector<std::string> valid;  // empty: valid_fraction of the documents of train
  double valid_fraction = 0.02;
  bool separate_documents = false;
  std::string cache_folder;  // empty: prepared/ in the user's cache folder
};

struct TokenizerConfig {
  TokenizerKind kind = TokenizerKind::kBpe;
  std::int64_t vocabulary = 4096;
  std::string file;  // an existing sentencepiece model; empty: trained on data.train
  std::int64_t sample_bytes = 10'000'000;
};

struct InitializeConfig {
  std::string from;  // a checkpoint whose weights to start from; empty: drawn from run.seed
  std::optional<double> standard_deviation;  // 1 / sqrt(model.width)
};

struct OptimizerConfig {
  OptimizerAlgorithm kind = OptimizerAlgorithm::kAdamW;
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  double momentum = 0.95;
  std::optional<double> matrix_learning_rate;  // learning_rate
  std::optional<double> matrix_weight_decay;   // weight_decay
  double clip_norm = 1.0;

  // The blocks' matrices are updated in another way than all else.
  bool updates_matrices() const { return kind != OptimizerAlgorithm::kAdamW; }
};

struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::kCosine;
  std::int64_t warmup_tokens = 0;
  std::optional<std::int64_t> decay_tokens;  // wsd: a fifth of run.train_tokens; else refused
  double final_fraction = 0.1;
};

struct GuardConfig {
  NonFinite non_finite = NonFinite::kStop;
  Spikes spikes = Spikes::kIgnore;
  std::int64_t spike_window = 128;  // steps
  double spike_deviations = 6;
  std::int64_t max_consecutive_skips = 100;
  std::int64_t max_rollbacks = 10;
  double z_loss = 0;
  FailedSave failed_save = FailedSave::kStop;

  bool skips() const { return non_finite == NonFinite::kSkip || spikes == Spikes::kSkip; }
  bool rolls_back() const {
    return non_finite == NonFinite::kRollBack || spikes == Spikes::kRollBack;
  }
};

struct RunConfig {
  std::string name = "run";
  std::string folder;  // empty: runs/<name>
  std::int64_t seed = 0;
  std::optional<std::int64_t> train_tokens;  // 2,000,000, or what a probe finds for train_seconds
  std::optional<double> train_seconds;       // a budget of wall time
  std::optional<std::int64_t> save_every_tokens;      // a tenth of train_tokens
  std::optional<std::int64_t> evaluate_every_tokens;  // a tenth of train_tokens
  std::int64_t validation_tokens = 100'000;
  std::int64_t log_every_tokens = 0;  // 0: every step
  std::int64_t keep_checkpoints = 2;
  bool save_in_background = true;
  std::int64_t patience =
      0;  // evaluations without improvement before stopping; 0: never stop early
};

struct DistributedConfig {
  Reduce reduce = Reduce::kExact;
};

}  // namespace alibi
