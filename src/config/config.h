// What a run is: plain structs with defaults. Field name = JSON key = --set path = key in the log.
//
// The keys' documentation, ranges and enum names are in fields.cc, once; `alibi inspect schema` and
// configs/README.md come from there. nullopt means "not given": the comment says what happens then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace alibi {

enum class Position { kAlibi, kSinusoidal, kLearned, kRotary, kT5, kNone };
enum class SlopeRule { kPress, kGeometric, kEqual, kExponential };
enum class Activation { kGelu, kGeluTanh };
enum class TokenizerKind { kBpe, kBytes };
enum class ScheduleKind { kCosine, kLinear, kConstant, kWsd };
enum class Device { kAuto, kCpu, kCuda };
enum class Precision { kAuto, kFp32, kBf16 };
enum class NonFinite { kStop, kSkip };
enum class AttentionSkip { kExact, kEpsilon, kOff };
enum class Protocol { kNonOverlapping, kSliding, kStreaming, kOnePass };
enum class Task { kPerplexity, kPasskey };
enum class Stretch { kNone, kLinear, kNtk, kYarn };
const char* protocol_name(Protocol protocol);  // as configs spell them
const char* stretch_name(Stretch stretch);

struct ModelConfig {
  std::int64_t layers = 6;
  std::int64_t width = 256;
  std::int64_t heads = 8;
  std::optional<std::int64_t> key_value_heads;  // heads
  std::optional<std::int64_t> mlp_width;        // 4 * width
  Position position = Position::kAlibi;
  std::optional<std::int64_t>
      max_sequence_length;  // learned positions: trained length; else refused
  SlopeRule slope_rule = SlopeRule::kPress;
  double slope_bias_max = 8;
  std::int64_t slope_seed = 0;               // of the exponential rule
  std::optional<std::int64_t> biased_heads;  // all heads
  std::vector<double> slopes;                // empty: by rule
  bool learned_slopes = false;
  double rotary_base = 10000;
  std::int64_t t5_buckets = 32;
  std::int64_t t5_max_distance = 128;
  bool t5_shared = true;
  bool tied_head = true;
  bool attention_bias = false;
  bool mlp_bias = false;
  bool norm_bias = false;
  bool embedding_norm = false;
  std::optional<double> attention_scale;  // 1 / sqrt(head width)
  Activation activation = Activation::kGelu;
  double norm_epsilon = 1e-5;
  double embedding_dropout = 0;
  double attention_dropout = 0;
  double residual_dropout = 0;
  double mlp_dropout = 0;
  bool causal = true;  // false is refused: the bias is defined for past keys only
};

struct BatchConfig {
  std::int64_t sequence_length = 512;              // L
  std::int64_t sequences = 8;                      // B
  double train_sequence_length_scaling = 1.0;      // s in {1, 1/2, 1/4, ...}
  std::vector<double> length_mixture;              // empty: every step has the one scaling s
  std::optional<std::int64_t> micro_batch_tokens;  // the whole batch
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
  double standard_deviation = 0.02;
};

struct OptimizerConfig {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  double clip_norm = 1.0;
};

struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::kCosine;
  std::int64_t warmup_tokens = 0;
  std::optional<std::int64_t> decay_tokens;  // wsd: a fifth of run.train_tokens; else refused
  double final_fraction = 0.1;
};

struct GuardConfig {
  NonFinite non_finite = NonFinite::kStop;
};

struct RunConfig {
  std::string name = "run";
  std::string folder;  // empty: runs/<name>
  std::int64_t seed = 0;
  std::int64_t train_tokens = 2'000'000;
  std::optional<std::int64_t> save_every_tokens;      // a tenth of train_tokens
  std::optional<std::int64_t> evaluate_every_tokens;  // a tenth of train_tokens
  std::int64_t validation_tokens = 100'000;
  std::int64_t log_every_tokens = 0;  // 0: every step
  std::int64_t keep_checkpoints = 2;
  std::int64_t patience =
      0;  // evaluations without improvement before stopping; 0: never stop early
};

struct PasskeyConfig {
  std::vector<double> depths = {0, 0.25, 0.5, 0.75, 1};
  std::int64_t trials = 20;    // at each length and depth
  std::int64_t documents = 1;  // each with a key of its own; one of them is asked for
};

struct EvaluateConfig {
  Task task = Task::kPerplexity;
  std::vector<std::string> lengths = {"1x", "2x", "4x", "10x"};
  Protocol protocol = Protocol::kNonOverlapping;
  std::optional<std::int64_t> stride;        // sliding: half of each length; else refused
  std::int64_t sinks = 0;                    // streaming only
  std::optional<std::int64_t> split_stride;  // not given: gains are not split
  std::int64_t far_context_tokens = 20'000;  // 0: not measured
  std::int64_t max_tokens = 1'000'000;
  std::int64_t batch_tokens = 8192;
  Stretch stretch = Stretch::kNone;
  std::optional<double> stretch_factor;  // each length over the trained length; else refused
  PasskeyConfig passkey;
};

struct AttentionConfig {
  std::string kernel = "auto";
  AttentionSkip skip = AttentionSkip::kEpsilon;
};

enum class Recompute { kNone, kBlocks };

struct RuntimeConfig {
  Device device = Device::kAuto;
  Precision precision = Precision::kAuto;
  std::int64_t threads = 0;  // 0: OMP_NUM_THREADS, else all cores
  std::int64_t loss_chunk_rows = 1024;
  Recompute recompute = Recompute::kNone;
  AttentionConfig attention;
};

struct Config {
  ModelConfig model;
  BatchConfig batch;
  DataConfig data;
  TokenizerConfig tokenizer;
  InitializeConfig initialize;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  GuardConfig guard;
  RunConfig run;
  EvaluateConfig evaluate;
  RuntimeConfig runtime;
};

// The batch a step sees: B / s rows of L * s targets; the same tokens for every s.
struct BatchShape {
  std::int64_t rows;
  std::int64_t length;
  std::int64_t tokens() const { return rows * length; }
};
BatchShape batch_shape(const BatchConfig& batch);  // expects a validated config
BatchShape batch_shape(const BatchConfig& batch, double scaling);

}  // namespace alibi
