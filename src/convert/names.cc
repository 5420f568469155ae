#include "convert/names.h"

#include <array>
#include <string_view>

#include "base/error.h"
#include "base/strings.h"
#include "model/shapes.h"

namespace alibi {
namespace {

struct Words {
  const char *embedding, *positions, *embedding_norm, *norm, *head,
      *block;  // block: before its number
  const char *norm_1, *qkv, *out, *norm_2, *up, *down;
};

constexpr std::array<Words, 5> kWords{{
    {"transformer.wte", "", "", "transformer.norm_f", "lm_head", "transformer.blocks.", "norm_1",
     "attn.Wqkv", "attn.out_proj", "norm_2", "ffn.up_proj", "ffn.down_proj"},
    {"transformer.word_embeddings", "", "transformer.word_embeddings_layernorm", "transformer.ln_f",
     "lm_head", "transformer.h.", "input_layernorm", "self_attention.query_key_value",
     "self_attention.dense", "post_attention_layernorm", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h"},
    {"transformer.wte", "transformer.wpe", "", "transformer.ln_f", "lm_head", "transformer.h.",
     "ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"},
    {"token_embd", "position_embd", "", "output_norm", "output", "blk.", "attn_norm", "attn_qkv",
     "attn_output", "ffn_norm", "ffn_up", "ffn_down"},
    {"embedding", "positions", "embedding_norm", "norm", "head", "blocks.", "norm_1", "qkv", "out",
     "norm_2", "up", "down"},
}};

std::string word_of(const Words& words, std::string_view part) {
  const std::array<std::pair<std::string_view, const char*>, 10> parts{
      {{"embedding_norm", words.embedding_norm},
       {"norm", words.norm},
       {"norm_1", words.norm_1},
       {"qkv", words.qkv},
       {"out", words.out},
       {"norm_2", words.norm_2},
       {"up", words.up},
       {"down", words.down},
       {"embedding", words.embedding},
       {"head", words.head}}};
  for (const auto& [ours, theirs] : parts) {
    if (ours == part) return theirs;
  }
  return part == "positions" ? words.positions : "";
}

// "block_3.qkv.weight" -> "transformer.blocks.3.attn.Wqkv.weight"; "embedding" -> "... .weight".
std::string renamed(const Words& words, const std::string& ours) {
  std::string_view rest = ours;
  std::string prefix;
  if (rest.starts_with("block_")) {
    const std::size_t dot = rest.find('.');
    prefix = cat(words.block, rest.substr(6, dot - 6), ".");
    rest.remove_prefix(dot + 1);
  }
  const std::size_t dot = rest.find('.');
  const std::string word = word_of(words, rest.substr(0, dot));
  ensure(!word.empty(), "the dialect has a name for every parameter of the model");
  const std::string_view kind = dot == std::string_view::npos ? ".weight" : rest.substr(dot);
  return cat(prefix, word, kind);
}

// A position method's own parameter: "slopes"; "buckets_0" -> "buckets.0.weight".
std::string position_name(const std::string& ours) {
  const std::size_t end = ours.find_last_not_of("0123456789");
  if (end == ours.size() - 1 || ours[end] != '_') return ours;
  return cat(ours.substr(0, end), ".", ours.substr(end + 1), ".weight");
}

TensorLayout layout_of(Dialect dialect, std::string_view ours) {
  if (dialect == Dialect::kBloom && ours.find(".qkv.") != std::string_view::npos)
    return TensorLayout::kHeadsTogether;
  const bool matrix = ours.starts_with("block_") && ours.ends_with(".weight") &&
                      ours.find(".norm_") == std::string_view::npos;
  return dialect == Dialect::kGpt2 && matrix ? TensorLayout::kTransposed : TensorLayout::kSame;
}

// Rows (first, second, rest) -> (second, first, rest) in blocks of `width` rows.
torch::Tensor swap_blocks(const torch::Tensor& x, std::int64_t first, std::int64_t second) {
  const std::int64_t width = x.size(0) / (first * second);
  std::vector<std::int64_t> shape = {first, second, width};
  for (std::int64_t i = 1; i < x.dim(); ++i) shape.push_back(x.size(i));
  return x.reshape(shape).transpose(0, 1).reshape(x.sizes()).contiguous();
}

}  // namespace

std::vector<TensorName> tensor_names(Dialect dialect, const ModelConfig& model) {
  const Words& words = kWords[static_cast<std::size_t>(dialect)];
  std::vector<TensorName> names;
  for (const ParameterShape& parameter : parameter_shapes(model, 0)) {
    const std::string& ours = parameter.name;
    const bool position = dialect == Dialect::kOwn && !ours.starts_with("block_") &&
                          word_of(words, ours.substr(0, ours.find('.'))).empty();
    names.push_back(
        {ours, position ? position_name(ours) : renamed(words, ours), layout_of(dialect, ours)});
  }
  return names;
}

torch::Tensor to_layout(const torch::Tensor& ours, TensorLayout layout, std::int64_t heads) {
  if (layout == TensorLayout::kTransposed) return ours.t().contiguous();
  if (layout == TensorLayout::kHeadsTogether) return swap_blocks(ours, 3, heads);
  return ours.contiguous();
}

torch::Tensor from_layout(const torch::Tensor& theirs, TensorLayout layout, std::int64_t heads) {
  if (layout == TensorLayout::kTransposed) return theirs.t().contiguous();
  if (layout == TensorLayout::kHeadsTogether) return swap_blocks(theirs, heads, 3);
  return theirs.contiguous();
}

}  // namespace alibi
