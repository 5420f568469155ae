#include "train/memory_plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/strings.h"
#include "config/key_pattern.h"
#include "device/cuda_library.h"
#include "device/device.h"
#include "device/memory.h"
#include "model/attention.h"
#include "model/hashed_keys.h"
#include "model/shapes.h"
#include "train/micro_batch_graphs.h"
#include "train/optimizer/optimizer.h"
#include "train/shards.h"

namespace alibi {
namespace {

// Bytes of all parameters in fp32, and of what the optimizer keeps for those of the rank that owns
// the most.
struct TrainedBytes {
  std::int64_t weights = 0, optimizer = 0;
};

TrainedBytes trained_bytes(const Config& c, std::int64_t vocabulary, int ranks) {
  const std::vector<ParameterShape> parameters = parameter_shapes(c.model, vocabulary);
  const Shards shards = shards_for(parameters, c.optimizer, ranks);
  TrainedBytes bytes;
  std::vector<std::int64_t> owned(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::int64_t count = parameters[i].count();
    const std::int64_t state = optimizer_state_bytes(c.optimizer, parameters[i]);
    bytes.weights += 4 * count;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::int64_t own = shards.slice(rank, i).count;  // less than all: state by element
      owned[static_cast<std::size_t>(rank)] += own == count ? state : state / count * own;
    }
  }
  bytes.optimizer = *std::ranges::max_element(owned);
  return bytes;
}

// Elements of a bucket that a rank receives, at most: its share from every rank.
std::int64_t most_received(const Shards& shards) {
  std::int64_t most = 0;
  for (const auto& bucket : shards.buckets()) {
    for (int rank = 0; rank < shards.ranks(); ++rank) {
      std::int64_t owned = 0;
      for (const std::size_t i : bucket) owned += shards.slice(rank, i).count;
      most = std::max(most, shards.ranks() * owned);
    }
  }
  return most;
}

// On each rank: K / W lanes are summed in a tree, one sum held for each level; a bucket, which
// holds whole parameters, is copied to be sent, and another is received, or more of one that a rank
// owns whole.
std::int64_t exchange_bytes(const Config& c, std::int64_t vocabulary, std::int64_t weights,
                            int ranks) {
  const std::vector<ParameterShape> parameters = parameter_shapes(c.model, vocabulary);
  std::int64_t largest = 0;
  for (const ParameterShape& parameter : parameters) largest = std::max(largest, parameter.count());
  const auto own_lanes = static_cast<std::uint64_t>(lanes_of(c.batch) / ranks);
  const std::int64_t sums = std::bit_width(own_lanes) - 1;
  if (ranks == 1) return sums * weights;
  const std::int64_t bucket = bucket_elements(ranks) + largest;
  const std::int64_t received =
      most_received(shards_for(parameters, c.optimizer, owners(c.distributed.reduce, ranks)));
  return sums * weights + 4 * (bucket + std::max(bucket, received));
}

// Of layers that hash keys: rotations (fp64), what hashing takes at once, and, for each token, the
// numbers of groups and of what earlier rounds show, copies in order and sums of gradients of the
// one layer that is computed.
struct HashingBytes {
  std::int64_t fixed = 0, per_token = 0;
};

HashingBytes hashing_bytes(const ModelConfig& m, std::int64_t item) {
  constexpr std::int64_t kAtOnce = 3 * 8 * HashedKeys::kMostNumbers;
  HashingBytes bytes;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    const KeyParts parts = key_parts(m, layer, 0);
    if (parts.buckets == 0) continue;
    bytes.fixed = std::max(bytes.fixed, kAtOnce) + 8 * parts.rounds * m.width * parts.buckets / 2;
    const std::int64_t numbers = parts.rounds * (parts.rounds + 1) / 2 + 6;
    bytes.per_token = std::max(bytes.per_token, (12 + 3 * item) * m.width + 8 * m.heads * numbers);
  }
  return bytes;
}

// Of a block, for each token: masks and products, GELU's output, which bf16 does not recompute
// then, and q, k, v and the result in fp32, as the reference attention has them. Measured, not
// derived.
std::int64_t dropout_bytes(const ModelConfig& m, std::int64_t hidden, std::int64_t item) {
  const std::int64_t mlp = 3 * item * hidden / 2 + (item == 2 ? item * hidden : 0);
  return (m.residual_dropout > 0 ? 5 * item * m.width : 0) + (m.mlp_dropout > 0 ? mlp : 0) +
         (m.attention_dropout > 0 ? 16 * m.width : 0);
}

// For each token of a micro batch, at the fullest moment of its backward pass.
std::int64_t activation_bytes_per_token(const Config& c, std::int64_t micro_batch_tokens) {
  const ModelConfig& m = c.model;
  const bool bf16 = c.runtime.precision == Precision::kBf16;
  const std::int64_t item = bf16 ? 2 : 4;
  // Rows of other chunks hold nothing between an MLP's products.
  const std::int64_t rows = c.runtime.mlp_chunk_rows;
  const bool chunked = rows > 0 && rows < micro_batch_tokens;
  const std::int64_t hidden = chunked ? *m.mlp_width * rows / micro_batch_tokens : *m.mlp_width;
  // Before and, in fp32, after GELU (bf16 recomputes it).
  const std::int64_t mlp = (bf16 ? 1 : 2) * hidden;
  // Two norms' inputs and outputs, q, k, v twice (heads split, then fp32 in the reference), mixed;
  // the residual stream's sums.
  const std::int64_t layer = item * (12 * m.width + mlp) + dropout_bytes(m, hidden, item);
  // The last norm's and the embedding's share, the gradients of the block that is gone through, and
  // what each token costs at any width: ids, targets, starts of documents, and what the heap keeps
  // between tensors. Measured (tests/bench/RESULTS.md), not derived.
  constexpr std::int64_t kAnyWidth = 1024;
  const std::int64_t ends = (m.embedding_dropout > 0 ? 14 : 12) * m.width * item + kAnyWidth;
  // Two streams and their gradients in fp32; attention or an MLP with its gradients, whichever
  // takes more. Measured, too.
  if (m.reversible)
    return 4 * 4 * m.width + item * (5 * m.width + std::max(12 * m.width, 3 * hidden)) + kAnyWidth;
  if (c.runtime.recompute == Recompute::kNone) return m.layers * layer + ends;
  // Each block's input, and what of one recomputed block is not yet used up when its gradients
  // come; measured, too.
  return m.layers * m.width * item + 3 * layer / 4 + ends;
}

// Asks without opening: a rank stands on a device of its own.
bool on_processor(const RuntimeConfig& runtime) {
  return runtime.device == Device::kCpu ||
         (runtime.device == Device::kAuto && !open_cuda_library().usable);
}

// Chunks of the reference attention, of which a device has some at once, and takes them where its
// own kernels do not know a run's numbers.
std::int64_t scores_bytes(const Config& c, std::int64_t micro_batch_tokens) {
  constexpr std::int64_t kOnProcessor = 4 * kReferenceChunkBytes, kAtOnce = 5;
  const bool kernels = c.runtime.precision == Precision::kBf16 && c.model.attention_dropout == 0;
  if (on_processor(c.runtime) || kernels) return kOnProcessor;
  const std::int64_t whole = 4 * micro_batch_tokens * c.model.heads * batch_shape(c.batch).length;
  return kAtOnce * std::clamp(whole, kOnProcessor / kAtOnce, kReferenceDeviceChunkBytes);
}

// What an update of matrices by Muon's kin takes beside the state, when activations are gone: some
// copies of one for each thread (optimizer/muon.cc), of those of one shape on a device.
std::int64_t update_bytes(const Config& c, std::int64_t vocabulary) {
  if (!c.optimizer.updates_matrices()) return 0;
  constexpr std::int64_t kCopies = 4, kStackedCopies = 6;  // with the stack and its gradients
  std::int64_t matrices = 0, largest = 0, most_alike = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> alike;
  for (const ParameterShape& parameter : parameter_shapes(c.model, vocabulary)) {
    const std::vector<std::int64_t> parts = stacked_rows(parameter);
    if (parts.empty()) continue;
    ++matrices;
    largest = std::max(largest, parameter.count());
    for (const std::int64_t rows : parts) {
      const std::int64_t columns = parameter.sizes.back();
      most_alike = std::max(most_alike, alike[{rows, columns}] += rows * columns);
    }
  }
  if (on_processor(c.runtime))
    return std::min<std::int64_t>(matrices, set_threads(0)) * kCopies * 4 * largest;
  return kStackedCopies * 4 * std::min(most_alike, std::max(kMatricesTogether, largest));
}

// Where memory is short a run gives up its graphs before anything else.
Config without_graphs(Config config) {
  config.runtime.cuda_graph = false;
  return config;
}

}  // namespace

MemoryParts estimate_memory(const Config& c, std::int64_t vocabulary,
                            std::int64_t micro_batch_tokens, int ranks) {
  const TrainedBytes trained = trained_bytes(c, vocabulary, owners(c.distributed.reduce, ranks));
  const bool bf16 = c.runtime.precision == Precision::kBf16;
  constexpr std::int64_t kProgram = 130 << 20;
  MemoryParts parts;
  parts.program = kProgram;
  const bool keeps_start = c.guard.rolls_back() && !c.initialize.from.empty();
  parts.weights = (keeps_start ? 2 : 1) * trained.weights;
  parts.gradients = trained.weights;
  parts.optimizer = trained.optimizer;
  // What ranks share of the optimizer each writes at once.
  const bool shares = owners(c.distributed.reduce, ranks) > 1;
  if (c.run.save_in_background && on_processor(c.runtime))  // a device's copy is the host's
    parts.saving = trained.weights + (shares ? 0 : trained.optimizer);
  parts.packed = bf16 ? trained.weights / 2 : 0;
  const HashingBytes hashing = hashing_bytes(c.model, bf16 ? 2 : 4);
  parts.activations = std::max(
      micro_batch_tokens * (activation_bytes_per_token(c, micro_batch_tokens) + hashing.per_token) +
          hashing.fixed + scores_bytes(c, micro_batch_tokens),
      update_bytes(c, vocabulary));
  parts.exchange = exchange_bytes(c, vocabulary, trained.weights, ranks);
  parts.loss = std::min(c.runtime.loss_chunk_rows, micro_batch_tokens) * vocabulary * 12;
  // Its memory is its own: the same work before it is captured, updates and validations have
  // theirs, and gradients are copied twice to be compared.
  if (why_no_graphs(c).empty() && !on_processor(c.runtime))
    parts.graph = parts.activations + parts.loss + parts.packed + 2 * trained.weights;
  return parts;
}

std::string describe_parts(const MemoryParts& p) {
  const auto part = [](const char* name, std::int64_t bytes) {
    return cat(name, " ", human_bytes(static_cast<double>(bytes)));
  };
  std::vector<std::string> parts = {
      part("program", p.program),         part("weights", p.weights),
      part("gradients", p.gradients),     part("optimizer", p.optimizer),
      part("saving", p.saving),           part("packed", p.packed),
      part("activations", p.activations), part("loss", p.loss)};
  if (p.exchange > 0) parts.push_back(part("exchange", p.exchange));
  if (p.graph > 0) parts.push_back(part("graph", p.graph));
  return join(parts, ", ");
}

std::int64_t fitting_micro_batch(const Config& config, std::int64_t vocabulary, std::int64_t limit,
                                 int ranks) {
  const Config c = without_graphs(config);
  const BatchShape shape = batch_shape(c.batch);
  for (std::int64_t rows = micro_batch_tokens_of(c.batch) / shape.length; rows > 0; --rows) {
    if (shape.rows / lanes_of(c.batch) % rows != 0) continue;
    const std::int64_t tokens = rows * shape.length;
    if (estimate_memory(c, vocabulary, tokens, ranks).bound() <= limit) return tokens;
  }
  return 0;
}

MemoryLimit training_memory_limit(const Config& config, torch::Device device, int ranks) {
  if (config.runtime.memory_limit_bytes)
    return {*config.runtime.memory_limit_bytes, "runtime.memory_limit_bytes"};
  MemoryLimit limit = memory_limit(device);
  if (device.is_cpu()) limit.bytes /= ranks;
  return limit;
}

std::int64_t plan_micro_batch(const Config& config, std::int64_t vocabulary, torch::Device device,
                              const World& world) {
  const int ranks = world.size();
  const std::int64_t wanted = micro_batch_tokens_of(config.batch);
  const MemoryLimit limit = training_memory_limit(config, device, world.local_size());
  const std::int64_t fitting = fitting_micro_batch(config, vocabulary, limit.bytes, ranks);
  if (fitting == wanted) return wanted;
  const std::int64_t tried = fitting > 0 ? wanted : batch_shape(config.batch).length;
  const MemoryParts parts = estimate_memory(without_graphs(config), vocabulary, tried, ranks);
  const std::string found = cat(
      "an estimate of ", human_bytes(static_cast<double>(parts.total())), " (",
      describe_parts(parts), ") for micro batches of ", tried, " tokens, expected at most 8/9 of ",
      human_bytes(static_cast<double>(limit.bytes)), ", the ", limit.source);
  if (fitting > 0) {
    log_warning(cat("memory: ", found, "; taking micro batches of ", fitting,
                    " tokens (sums in another order: other last bits",
                    has_dropout(config.model) ? "; other dropout masks" : "", ")"));
    return fitting;
  }
  throw Error("memory", found,
              "make the model, the vocabulary, the trained length or runtime.loss_chunk_rows "
              "smaller, set runtime.recompute to \"blocks\" or run.save_in_background to false; "
              "runtime.memory_limit_bytes "
              "overrules the limit");
}

}  // namespace alibi
