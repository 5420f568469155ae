#include "base/error.h"
#include "base/files.h"
#include "base/json/parse.h"
#include "base/json/write.h"
#include "base/stop.h"
#include "base/strings.h"
#include "checkpoint/load_model.h"
#include "config/load.h"
#include "convert/custom_code.h"
#include "convert/huggingface.h"
#include "convert/names.h"
#include "convert/tokenizer_json.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

const char* type_name(torch::ScalarType type) {
  return type == torch::kHalf ? "float16" : type == torch::kBFloat16 ? "bfloat16" : "float32";
}

Json scale_of(const ModelConfig& m) {
  return has_usual_scale(m) ? Json() : Json(*m.attention_scale);
}

// What both classes read alike. Their "dtype" was "torch_dtype" before version 5.
Json common(const GptImpl& model, std::int32_t end, const HuggingFaceOptions& options) {
  const ModelConfig& m = model.config();
  Json all = {{"vocab_size", model.vocabulary()},
              {"layer_norm_epsilon", m.norm_epsilon},
              {"tie_word_embeddings", m.tied_head},
              {"use_cache", true},
              {"bos_token_id", end},
              {"eos_token_id", end},
              {"pad_token_id", end},
              {"dtype", type_name(options.type)},
              {"torch_dtype", type_name(options.type)}};
  if (options.trained > 0) all["trained_length"] = options.trained;  // a key of this program's
  return all;
}

// transformers reads few of these keys; llm-foundry and vLLM read more of them.
Json mpt_config(const GptImpl& model, std::int32_t end, const HuggingFaceOptions& options) {
  const ModelConfig& m = model.config();
  Json config = {{"architectures", Json::list({"MPTForCausalLM"})},
                 {"model_type", name_of(Dialect::kMpt)},
                 {"d_model", m.width},
                 {"n_heads", m.heads},
                 {"n_layers", m.layers},
                 {"expansion_ratio", 4},
                 {"max_seq_len", options.longest},
                 {"resid_pdrop", 0.0},
                 {"emb_pdrop", 0.0},
                 {"learned_pos_emb", false},
                 {"attn_config",
                  {{"attn_type", "multihead_attention"},
                   {"attn_pdrop", 0},
                   {"attn_impl", "torch"},
                   {"clip_qkv", nullptr},
                   {"softmax_scale", scale_of(m)},
                   {"prefix_lm", false},
                   {"qk_ln", false},
                   {"attn_uses_sequence_id", false},
                   {"alibi", true},
                   {"alibi_bias_max", 8}}},
                 {"init_device", "cpu"},
                 {"logit_scale", nullptr},
                 {"no_bias", true},
                 {"embedding_fraction", 1.0},
                 {"norm_type", "low_precision_layernorm"},
                 {"initializer_range", 0.02}};
  config.update(common(model, end, options));
  return config;
}

Json bloom_config(const GptImpl& model, std::int32_t end, const HuggingFaceOptions& options) {
  const ModelConfig& m = model.config();
  Json config = {{"architectures", Json::list({"BloomForCausalLM"})},
                 {"model_type", name_of(Dialect::kBloom)},
                 {"hidden_size", m.width},
                 {"n_layer", m.layers},
                 {"n_head", m.heads},
                 {"seq_length", options.longest},
                 {"initializer_range", 0.02},
                 {"apply_residual_connection_post_layernorm", false},
                 {"hidden_dropout", 0.0},
                 {"attention_dropout", 0.0},
                 {"pretraining_tp", 1},
                 {"slow_but_exact", false}};
  config.update(common(model, end, options));
  // Its class adds slope * position in the model's type: in bf16 far positions run together, and
  // the loss rises with the length. The weights keep their type.
  for (const char* type : {"dtype", "torch_dtype"}) config[type] = "float32";
  return config;
}

// This program's keys, and the slopes that they mean.
Json own_config(const GptImpl& model, std::int32_t end, const HuggingFaceOptions& options) {
  Config keys;
  keys.model = model.config();
  Json config = {{"architectures", Json::list({"AlibiForCausalLM"})},
                 {"model_type", name_of(Dialect::kOwn)},
                 {"auto_map",
                  {{"AutoConfig", "configuration_alibi.AlibiConfig"},
                   {"AutoModelForCausalLM", "modeling_alibi.AlibiForCausalLM"}}},
                 {"model", *parse_json(config_json(keys), "config").find("model")},
                 {"slopes", model.slopes()},
                 {"max_position_embeddings", options.longest}};
  config.update(common(model, end, options));
  return config;
}

Json config_of(const GptImpl& model, std::int32_t end, const HuggingFaceOptions& options) {
  if (options.target == Dialect::kOwn) return own_config(model, end, options);
  return options.target == Dialect::kMpt ? mpt_config(model, end, options)
                                         : bloom_config(model, end, options);
}

std::string shard_name(std::size_t number, std::size_t count) {
  if (count == 1) return "model.safetensors";
  return cat("model-", zero_padded(number, 5), "-of-", zero_padded(count, 5), ".safetensors");
}

// Names in order, cut wherever the next tensor would pass the limit.
std::vector<std::vector<TensorName>> shards_of(const std::vector<TensorName>& names,
                                               const Tensors& ours,
                                               const HuggingFaceOptions& options) {
  std::vector<std::vector<TensorName>> shards(1);
  std::int64_t bytes = 0;
  for (const TensorName& name : names) {
    const std::int64_t size =
        ours.at(name.ours).numel() * static_cast<std::int64_t>(torch::elementSize(options.type));
    if (bytes > 0 && bytes + size > options.shard_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(name);
    bytes += size;
  }
  return shards;
}

void write_weights(const fs::path& folder, const GptImpl& model,
                   const HuggingFaceOptions& options) {
  const torch::NoGradGuard guard;
  const Tensors ours = weights_of(model);
  const auto names = tensor_names(options.target, model.config());
  const auto shards = shards_of(names, ours, options);
  Json map = Json::object();
  std::int64_t total = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string file = shard_name(i + 1, shards.size());
    Tensors theirs;
    for (const TensorName& name : shards[i]) {
      leave_if_stopped("export");
      const torch::Tensor tensor =
          to_layout(ours.at(name.ours), name.layout, model.config().heads).to(options.type);
      total += static_cast<std::int64_t>(tensor.nbytes());
      map.append(name.theirs, file);
      theirs[name.theirs] = tensor;
    }
    save_tensors(folder / file, theirs);
  }
  if (shards.size() == 1) return;
  const Json index = {{"metadata", {{"total_size", total}}}, {"weight_map", std::move(map)}};
  write_file_atomic(folder / "model.safetensors.index.json",
                    write_json(index, {.indent = 2}) + "\n");
}

}  // namespace

void write_huggingface(const fs::path& folder, const GptImpl& model, const Tokenizer& tokenizer,
                       const HuggingFaceOptions& options) {
  ensure(obstacles(options.target, model.config()).empty(), "the target can express the model");
  const std::int32_t end = tokenizer.end();
  write_file_atomic(folder / "config.json",
                    write_json(config_of(model, end, options), {.indent = 2}) + "\n");
  if (options.target == Dialect::kOwn) {
    write_file_atomic(folder / "configuration_alibi.py", kConfigurationPy);
    write_file_atomic(folder / "modeling_alibi.py", modeling_py(model.config()));
  }
  const Json generation = {{"bos_token_id", end}, {"eos_token_id", end}, {"pad_token_id", end}};
  write_file_atomic(folder / "generation_config.json",
                    write_json(generation, {.indent = 2}) + "\n");
  refuse_other_ids(tokenizer);
  write_file_atomic(folder / "tokenizer.json", tokenizer_json(tokenizer));
  write_file_atomic(folder / "tokenizer_config.json",
                    tokenizer_config_json(tokenizer, options.longest));
  if (!tokenizer.is_bytes() && !tokenizer.is_byte_level())
    write_file_atomic(folder / "tokenizer.model", tokenizer.model());
  write_weights(folder, model, options);
}

}  // namespace alibi
