#include "convert/gguf_model.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/stop.h"
#include "base/strings.h"
#include "convert/gguf_tokenizer.h"
#include "convert/names.h"
#include "convert/quantize.h"
#include "convert/targets.h"
#include "model/shapes.h"

namespace alibi {
namespace {

std::uint32_t number(std::int64_t value) { return static_cast<std::uint32_t>(value); }

std::uint32_t file_type(GgufElement element) {
  switch (element) {
    case GgufElement::kF32:
      return 0;
    case GgufElement::kF16:
      return 1;
    case GgufElement::kQ8:
      return 7;
    case GgufElement::kBf16:
      return 32;
  }
  return 0;
}

void add_model_keys(GgufKeys& keys, const GptImpl& model, const GgufOptions& options) {
  const ModelConfig& m = model.config();
  const GgufKeys more = {
      {"general.architecture", "mpt"},
      {"general.type", "model"},
      {"general.name", options.name},
      {"general.file_type", file_type(options.element)},
      {"general.quantization_version", std::uint32_t{2}},
      {"mpt.context_length", number(options.longest)},
      {"mpt.embedding_length", number(m.width)},
      {"mpt.block_count", number(m.layers)},
      {"mpt.feed_forward_length", number(m.mlp_width.value_or(4 * m.width))},
      {"mpt.attention.head_count", number(m.heads)},
      {"mpt.attention.head_count_kv", number(m.key_value_heads.value_or(m.heads))},
      {"mpt.attention.layer_norm_epsilon", static_cast<float>(m.norm_epsilon)},
      {"mpt.attention.max_alibi_bias", static_cast<float>(position_form(m).bias_max)}};
  keys.insert(keys.end(), more.begin(), more.end());
}

const GgufTensor* find_tensor(const GgufContent& content, const std::string& name) {
  const auto tensor = std::ranges::find(content.tensors, name, &GgufTensor::name);
  return tensor == content.tensors.end() ? nullptr : &*tensor;
}

template <class Value>
const Value& key_of(const GgufContent& content, const std::string& key, const std::string& place) {
  const auto found = content.keys.find(key);
  const Value* value = found == content.keys.end() ? nullptr : std::get_if<Value>(&found->second);
  if (value == nullptr) throw Error(place, cat("has no key ", key, " of the type it must have"));
  return *value;
}

// The model that keys and tensors speak of, without weights. Of GELU's form the file says nothing.
ForeignModel described_model(const GgufContent& content, const std::string& place) {
  const auto size = [&](const char* key) {
    return std::int64_t{key_of<std::uint32_t>(content, cat("mpt.", key), place)};
  };
  const auto number = [&](const char* key) {
    return double{key_of<float>(content, cat("mpt.attention.", key), place)};
  };
  const auto has = [&](const char* name) { return find_tensor(content, name) != nullptr; };
  ForeignModel read;
  ModelConfig& m = read.model;
  m.width = size("embedding_length");
  m.layers = size("block_count");
  m.mlp_width = size("feed_forward_length");
  m.heads = size("attention.head_count");
  m.key_value_heads = size("attention.head_count_kv");
  m.norm_epsilon = number("layer_norm_epsilon");
  read.longest = size("context_length");
  const double bias = number("max_alibi_bias");
  if (has("position_embd.weight")) {  // with as many rows as llama.cpp expects
    take_form(m, {.kind = PositionForm::kTable, .rows = read.longest});
  } else {
    take_form(m, bias > 0 ? PositionForm{PositionForm::kPressSlopes, bias}
                          : PositionForm{PositionForm::kNothing});
  }
  m.attention_bias = has("blk.0.attn_qkv.bias");
  m.mlp_bias = has("blk.0.ffn_up.bias");
  m.norm_bias = has("output_norm.bias");
  m.tied_head = !has("output.weight");
  const bool tokens = content.keys.contains("tokenizer.ggml.tokens");
  read.vocabulary =
      tokens ? std::ssize(key_of<std::vector<std::string>>(content, "tokenizer.ggml.tokens", place))
             : size("vocab_size");
  return read;
}

GgufElement element_of(const std::string& ours, const torch::Tensor& tensor, GgufElement matrices) {
  return tensor.dim() == 2 && ours != "positions" ? matrices : GgufElement::kF32;
}

}  // namespace

std::vector<std::string> gguf_obstacles(const ModelConfig& m, const Tokenizer& tokenizer,
                                        GgufElement element) {
  std::vector<std::string> found = obstacles(Dialect::kGguf, m);
  const std::vector<std::string> more = gguf_tokenizer_obstacles(tokenizer);
  found.insert(found.end(), more.begin(), more.end());
  const bool whole = m.width % 32 == 0 && m.mlp_width.value_or(4 * m.width) % 32 == 0;
  if (element == GgufElement::kQ8 && !whole)
    found.emplace_back(
        "q8_0: model.width and mlp_width must be multiples of 32 (--type f16 holds any)");
  return found;
}

void write_gguf_model(const std::filesystem::path& path, const GptImpl& model,
                      const Tokenizer& tokenizer, const GgufOptions& options) {
  const torch::NoGradGuard guard;
  GgufKeys keys;
  add_model_keys(keys, model, options);
  const GgufKeys more = gguf_tokenizer_keys(tokenizer);
  keys.insert(keys.end(), more.begin(), more.end());
  std::map<std::string, torch::Tensor> weights;  // by their names
  std::vector<GgufTensor> tensors;
  const auto parameters = model.named_parameters();
  for (const TensorName& name : tensor_names(Dialect::kGguf, model.config())) {
    const torch::Tensor tensor = parameters[name.ours].detach().cpu().contiguous();
    weights[name.theirs] = tensor;
    tensors.push_back(
        {name.theirs, tensor.sizes().vec(), element_of(name.ours, tensor, options.element), {}});
  }
  std::vector<std::byte> bytes;
  write_gguf(path, keys, tensors, [&](const std::string& wanted) -> std::span<const std::byte> {
    leave_if_stopped("export");
    const auto tensor = std::ranges::find(tensors, wanted, &GgufTensor::name);
    bytes = quantized(weights.at(wanted), tensor->element);
    return bytes;
  });
}

ForeignModel read_gguf_model(const std::filesystem::path& path, Activation activation) {
  const GgufFile file(path);
  const GgufContent& content = file.content();
  ForeignModel read = described_model(content, path.string());
  read.model.activation = activation;
  const auto names = tensor_names(Dialect::kGguf, read.model);
  const auto shapes = parameter_shapes(read.model, read.vocabulary);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const GgufTensor* tensor = find_tensor(content, names[i].theirs);
    if (tensor == nullptr || tensor->shape != shapes[i].sizes)
      throw Error(path.string(),
                  cat("has no tensor \"", names[i].theirs, "\" of the model's shape"));
    read.weights[names[i].ours] = dequantized(*tensor);
  }
  return read;
}

}  // namespace alibi
