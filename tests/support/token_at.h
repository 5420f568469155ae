// One token of prepared text, marked where it is not learned.
#pragma once

#include "data/shards.h"

namespace alibi {

inline std::int32_t token_at(const TokenShards& shards, std::int64_t index) {
  std::int64_t id = 0;
  shards.read(index, std::span(&id, 1));
  return static_cast<std::int32_t>(id);
}

}  // namespace alibi
