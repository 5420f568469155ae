// Attention of new positions of sequences with caches of their own. Where a tiled kernel is chosen
// and the new positions are few, kernels/decode_attention.h reads keys and values where the caches
// hold them; all else goes through the caches' views, sequence by sequence.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/attention.h"
#include "model/cache.h"

namespace alibi {

// Whether so many new positions of each sequence, of `keys` at most, are few: a block of queries of
// the tiled kernels has 64, and they pack all keys first.
bool few_queries(std::int64_t queries, std::int64_t keys);

// The decode kernel on one layer as work items. Points into what it was given last.
class DecodeCall {
 public:
  // The tiled kernel whose arithmetic few queries get; null: none takes inputs like these.
  static const AttentionKernel* kernel_for(const AttentionInputs& inputs,
                                           const std::string& choice);

  // Queries, keys and values of `inputs` are those of the new positions, their options are of no
  // matter yet. Output (B, H, T, D) is filled by the items.
  DecodeCall(const AttentionKernel& kernel, const AttentionInputs& inputs, std::int64_t layer,
             torch::Tensor output_BHTD);
  // What the next run of its items is about; as attend_caches.
  void set(const ScoreOptions& options, std::span<Cache* const> caches);
  std::int64_t items() const;
  void run(std::int64_t item) const;
  void run_all() const;
  // Against the reference on what the caches hold by now.
  void check(const AttentionInputs& inputs, std::span<Cache* const> caches) const;

 private:
  const AttentionKernel* kernel_;
  std::int64_t layer_;
  DecodeAttention a_;
  torch::Tensor q_, k_, v_, output_BHTD_, slopes_, table_, terms_;
  std::shared_ptr<const KeyRules> rules_;
  std::vector<PagedKeys> keys_;
  std::int64_t parts_;  // work items of a sequence
};

// Adds the new positions, which the caches have reserved, to one layer of them, one for each
// sequence, and returns (B, H, T, D). Keys and values of `inputs`, and the terms of their bias, are
// those of the new positions. No graph. A sequence's numbers do not depend on the others.
torch::Tensor attend_caches(const AttentionInputs& inputs, std::int64_t layer,
                            std::span<Cache* const> caches, const std::string& choice);

// Keys and values are of the new positions before, and of all that the cache holds after.
void go_on(Cache& cache, std::int64_t layer, AttentionInputs& inputs);

}  // namespace alibi
