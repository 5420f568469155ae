// The rules by which heads see keys (kernels/visible_keys.h), with the lists they point into.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/config.h"
#include "device/tensor.h"
#include "kernels/visible_keys.h"
#include "model/hashed_keys.h"

namespace alibi {

struct ListedBlocks {  // as BlockList
  std::vector<std::int64_t> begin, blocks;
};

class KeyRules {
 public:
  // One rule for all heads, or one for each. `lists`: one for each rule, some of them empty; or
  // none.
  explicit KeyRules(const std::vector<KeyParts>& parts, std::vector<ListedBlocks> lists = {});
  KeyRules(const KeyRules&) = delete;  // its rules point into it
  KeyRules& operator=(const KeyRules&) = delete;

  const std::vector<KeyRule>& rules() const { return rules_; }
  bool reaches(std::int64_t keys) const;  // every list has rows for so many
  bool ask_for_documents() const;         // some rule has global keys

 private:
  std::vector<ListedBlocks> lists_;
  std::vector<KeyRule> rules_;
};

// Those of a layer for up to `keys` keys; null: every head sees all, or its keys are hashed. What
// is drawn depends on layer, head and block alone: more keys change nothing for the earlier ones.
std::shared_ptr<const KeyRules> key_rules(const ModelConfig& model, std::int64_t layer,
                                          std::int64_t keys);

// Whether two layers have the same: none of their blocks are drawn.
bool same_rules(const ModelConfig& model, std::int64_t layer, std::int64_t other);

// Which keys a query sees, as tensors.
struct VisibleKeys {
  torch::Tensor first_BT;                 // int64; undefined: every query sees from key 0
  std::shared_ptr<const KeyRules> rules;  // null: every head sees all
  const HashedKeys* hashed = nullptr;     // what hashes keys, if anything; beside no rules
  KeyGroups groups;                       // of keys that were hashed
  // int64, by round: key j is also hidden from query i > j where 0 <= x_i - x_j <= 1 in a round.
  torch::Tensor left_out_RBS;

  void hash(const torch::Tensor& k_BHSD);  // once all keys are there

  struct Part {
    std::int64_t queries, keys;       // T, S
    std::int64_t first, count, seen;  // queries first .. first + count - 1, keys below `seen`
  };
  // (1 or B, 1 or H, count, seen): which keys each query of the part does not see, by the formula.
  torch::Tensor hidden(const Part& part, torch::Device device) const;
};

}  // namespace alibi
