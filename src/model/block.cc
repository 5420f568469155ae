#include "model/block.h"

namespace alibi {

std::int64_t head_width(const ModelConfig& m) { return m.width / m.heads; }
std::int64_t key_value_heads(const ModelConfig& m) { return m.key_value_heads.value_or(m.heads); }

BlockImpl::BlockImpl(const ModelConfig& m) {
  const std::int64_t qkv_width = (m.heads + 2 * key_value_heads(m)) * head_width(m);
  const std::int64_t mlp_width = m.mlp_width.value_or(4 * m.width);
  norm_1 = register_module<NormImpl>("norm_1", m.width, m.norm_epsilon, m.norm_bias);
  qkv = register_module<AffineImpl>("qkv", m.width, qkv_width, m.attention_bias);
  out = register_module<AffineImpl>("out", m.width, m.width, m.attention_bias);
  norm_2 = register_module<NormImpl>("norm_2", m.width, m.norm_epsilon, m.norm_bias);
  up = register_module<AffineImpl>("up", m.width, mlp_width, m.mlp_bias);
  down = register_module<AffineImpl>("down", mlp_width, m.width, m.mlp_bias);
}

}  // namespace alibi
