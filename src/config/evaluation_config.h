// The keys of measuring a model, and of the machine it runs on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.h"
#include "config/skip_rule.h"

namespace alibi {

enum class Protocol { kNonOverlapping, kSliding, kStreaming, kOnePass };
constexpr auto enum_names(Protocol) {
  return std::array{"non_overlapping", "sliding", "streaming", "one_pass"};
}
// After the first: what asks for answers, in texts of text/tasks.h; a passkey in held-out text.
enum class Task {
  kPerplexity,
  kPasskey,
  kRecall,
  kCopy,
  kLookup,
  kFlipFlop,
  kNeedle,
  kNeedles,
  kVariables,
  kCommonWords,
  kFrequentWords
};
constexpr auto enum_names(Task) {
  return std::array{"perplexity", "passkey",      "recall",        "copy",
                    "lookup",     "flip_flop",    "needle",        "needles",
                    "variables",  "common_words", "frequent_words"};
}
// The others' texts are made, not read.
constexpr bool reads_text(Task task) { return task == Task::kPerplexity || task == Task::kPasskey; }
// What is asked for stands at a place of its own.
constexpr bool asks_at_depths(Task task) {
  return task == Task::kPasskey || task == Task::kLookup || task == Task::kNeedle ||
         task == Task::kNeedles;
}
enum class Stretch { kNone, kLinear, kNtk, kYarn };
constexpr auto enum_names(Stretch) { return std::array{"none", "linear", "ntk", "yarn"}; }
enum class Device { kAuto, kCpu, kCuda };
constexpr auto enum_names(Device) { return std::array{"auto", "cpu", "cuda"}; }
enum class Precision { kAuto, kFp32, kBf16, kTf32 };
constexpr auto enum_names(Precision) { return std::array{"auto", "fp32", "bf16", "tf32"}; }

struct AnswersConfig {
  std::vector<double> depths = {0, 0.25, 0.5, 0.75, 1};
  std::int64_t trials = 20;    // at each length and depth
  std::int64_t documents = 1;  // of passkey: each with a key of its own; one of them is asked for
  double ignored = 0.8;        // of a flip-flop's instructions
  double idle = 0;             // of the words among a recall's pairs
};

// Targets that a fixed model, the evaluator, finds hard with a short context and easy with a long
// one (LongPPL, Fang et al. 2024, section 3): all models are scored on the same ones.
struct KeyTokensConfig {
  std::string evaluator;                     // a run or checkpoint; empty: not measured
  std::optional<std::int64_t> short_length;  // a sixteenth of long_length
  std::optional<std::int64_t> long_length;   // the evaluator's trained length
  double least_gain = 0.5;                   // nats, of the long context over the short one
  double most_loss = 2;                      // nats, with the long one
  bool operator==(const KeyTokensConfig&) const = default;
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
  AnswersConfig answers;
  KeyTokensConfig key_tokens;
};

struct AttentionConfig {
  std::string kernel = "auto";
  SkipRule skip = SkipRule::kEpsilon;
};

enum class Recompute { kNone, kBlocks };
constexpr auto enum_names(Recompute) { return std::array{"none", "blocks"}; }

enum class LinearLayers { kAuto, kPacked, kLibtorch };
constexpr auto enum_names(LinearLayers) { return std::array{"auto", "packed", "libtorch"}; }

struct RuntimeConfig {
  Device device = Device::kAuto;
  Precision precision = Precision::kAuto;
  std::int64_t threads = 0;  // 0: OMP_NUM_THREADS, else all cores, or as many as are granted
  std::int64_t loss_chunk_rows = 1024;
  std::int64_t mlp_chunk_rows = 0;
  Recompute recompute = Recompute::kNone;
  std::optional<std::int64_t> memory_limit_bytes;    // what the machine has free
  LinearLayers linear_layers = LinearLayers::kAuto;  // of training; resolved at its start
  bool cuda_graph = false;
  AttentionConfig attention;
};

}  // namespace alibi
