// The keys of measuring a model, and of the machine it runs on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace alibi {

enum class Protocol { kNonOverlapping, kSliding, kStreaming, kOnePass };
enum class Task { kPerplexity, kPasskey };
enum class Stretch { kNone, kLinear, kNtk, kYarn };
enum class Device { kAuto, kCpu, kCuda };
enum class Precision { kAuto, kFp32, kBf16, kTf32 };
enum class AttentionSkip { kExact, kEpsilon, kOff };
const char* protocol_name(Protocol protocol);  // as configs spell them
const char* stretch_name(Stretch stretch);
const char* device_name(Device device);

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
  std::optional<std::int64_t> memory_limit_bytes;  // what the machine has free
  AttentionConfig attention;
};

}  // namespace alibi
