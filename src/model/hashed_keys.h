// Which keys a query sees where keys are hashed: the LSH attention of Reformer (Kitaev et al. 2020,
// section 2), cut so that no later position changes what an earlier one sees.
//
// Queries are keys, of unit length. In each of R rounds a key k falls into bucket
// argmax([k W; -k W]), W (D, buckets / 2) drawn. The keys of a bucket, of one document, are cut in
// order of place into chunks of M: a key's chunk is its rank among the earlier ones, over M. A
// query sees the earlier keys of its bucket in its own chunk and the one before, of all rounds,
// each once; itself where it sees nothing else.
#pragma once

#include <cstdint>
#include <memory>

#include "config/config.h"
#include "config/key_pattern.h"
#include "device/moved_tensor.h"
#include "device/tensor.h"

namespace alibi {

// By round: query i sees key j < i where 0 <= group_i - group_j <= 1.
struct KeyGroups {
  torch::Tensor of_RBHS;   // int64; undefined: keys are not hashed
  std::int64_t chunk = 0;  // M: a group has at most so many keys
};

class HashedKeys {
 public:
  // Hashing takes a few tensors of at most so many numbers (fp64) at once.
  static constexpr std::int64_t kMostNumbers = 1 << 22;

  // W of each round and head: (R, H, D, buckets / 2).
  HashedKeys(const KeyParts& parts, const torch::Tensor& rotations_RHDW);
  // k: as it is scored, of any length: its direction counts. first_BS: where each key's document
  // begins; undefined: all are of one. Computed in fp64, so that a key falls into the same bucket
  // whatever it is computed beside.
  KeyGroups groups(const torch::Tensor& k_BHSD, const torch::Tensor& first_BS) const;

 private:
  torch::Tensor buckets(const torch::Tensor& k_BHSD, std::int64_t round) const;

  KeyParts parts_;
  MovedTensor rotations_RHDW_;  // fp64
};

// Those of a layer, with W of a normal distribution, the same for every run; null: its keys are not
// hashed.
std::unique_ptr<const HashedKeys> hashed_keys(const ModelConfig& model, std::int64_t layer);

// Queries as keys: q over the root of its mean square, in q's type. With scores over sqrt(D) this
// is |q| cos.
torch::Tensor keys_of_queries(const torch::Tensor& q_BHTD);

// (B, H, T, S), T queries from place `first` on: which keys they see, by the definition.
torch::Tensor shown_by_groups(const KeyGroups& groups, std::int64_t first, std::int64_t queries,
                              std::int64_t keys);

}  // namespace alibi
