// Loss of every target of a text under windows of one length: the raw material of every figure.
//
// The text is its targets t_0 ... t_{N-1}; the input before t_0 is an eos. A window reads
// consecutive inputs and scores the last `scored` of their targets. Of a sampled text the targets
// are its ids; those that are context only are in no window's scored part.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "config/config.h"
#include "data/text_sample.h"
#include "evaluate/share.h"
#include "model/gpt.h"

namespace alibi {

struct Window {
  std::int64_t first = 0;   // first target (its input comes before it)
  std::int64_t length = 0;  // inputs read
  std::int64_t scored = 0;  // targets counted, at the window's end
  bool operator==(const Window&) const = default;
};

// Windows that score each of `targets` targets exactly once. Without a stride they do not overlap,
// and the last one is shorter when `length` does not divide the text. With it they slide (Baevski
// and Auli 2019): each scores `stride` targets with up to `length` inputs of context; those at the
// start of the text are shorter.
std::vector<Window> windows_of(std::int64_t targets, std::int64_t length,
                               std::optional<std::int64_t> stride = {});

// Tokens before a run that a pass can predict: the first token of its context is an input only, as
// what precedes it is not there.
std::int64_t lead_of(const SampleRun& run);

// The same in each run of a sample; sliding windows reach back into a run's context, no further.
std::vector<Window> windows_of(const TextSample& sample, std::int64_t length,
                               std::optional<std::int64_t> stride = {});

struct ScoringOptions {
  std::int64_t batch_tokens = 8192;  // inputs per forward pass (at least one window)
  std::int64_t chunk_rows = 1024;    // of the loss
  std::int64_t mlp_chunk_rows = 0;   // as ForwardOptions'
  bool separate_documents = false;
  std::int64_t end = Tokenizer::kEnd;  // the token behind every document
  PositionStretch stretch;
  std::vector<double> slopes;  // instead of the model's; empty: those
  torch::Device device = torch::kCPU;
  ScoringShare share;
  // If given, gets the share of the key blocks up to a query's own that attention visited, over all
  // windows, layers and heads: 1 without a pattern or skipped blocks, NaN where a layer's kernel
  // does not count. Of windows, not of streams.
  double* visited_share = nullptr;
  // Tokens, those that are only context and those of other processes' batches too.
  std::function<void(std::int64_t read)> progress;
};

// One loss in nats per target, in order; 0 where no window scores it. Throws Error when the model
// cannot take the windows' length.
std::vector<float> score(Gpt& model, std::span<const std::int32_t> targets,
                         const std::vector<Window>& windows, const ScoringOptions& options);

// How a text is read through a cache of bounded size: each token keeps the keys and values it was
// given when it was read.
struct StreamRule {
  std::int64_t window = 0;  // positions the cache holds, the newest included
  std::int64_t sinks = 0;   // of them, the text's first ones, which are never dropped
};

// Tokens are read in steps of at most a quarter of the window, so each sees between three quarters
// of the window and the whole of it. Every run of the sample is a stream; the context before it is
// read and not scored. The result is that of `score`. Not for separate_documents.
std::vector<float> score_streaming(Gpt& model, const TextSample& sample, const StreamRule& rule,
                                   const ScoringOptions& options);

// The losses of a sample's scored tokens alone, in order.
std::vector<float> scored_losses(const TextSample& sample, std::span<const float> losses);

double mean_of(std::span<const float> losses);  // summed in fp64

}  // namespace alibi
