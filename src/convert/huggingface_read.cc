#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "convert/huggingface.h"
#include "convert/names.h"
#include "formats/strict_json.h"
#include "model/shapes.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLargestJson = 64ull << 20;
constexpr std::int64_t kMost = std::int64_t{1} << 31;  // of any size in a config

// A config.json and what may be asked of it; absent keys take the class's defaults.
class ForeignConfig {
 public:
  ForeignConfig(StrictObject object, std::string place)
      : object_(std::move(object)), place_(std::move(place)) {}

  std::int64_t size(const char* key) const {
    const std::int64_t value = as_count(required(object_, key, place_), at(key));
    if (value < 1 || value > kMost) throw Error(at(key), cat("found ", value));
    return value;
  }
  double number(const char* key, double usual) const {
    const StrictJson* value = find(key);
    return value == nullptr ? usual : as_number(*value, at(key));
  }
  bool flag(const char* key, bool usual) const {
    const StrictJson* value = find(key);
    return value == nullptr ? usual : as_bool(*value, at(key));
  }
  std::string text(const char* key) const {
    return as_string(required(object_, key, place_), at(key));
  }
  ForeignConfig part(const char* key) const {
    const StrictJson* value = find(key);
    return {value == nullptr ? StrictObject() : as_object(*value, at(key)), at(key)};
  }
  const StrictJson* find(const char* key) const {  // null counts as absent
    const auto found = object_.find(key);
    const bool there =
        found != object_.end() && !std::holds_alternative<std::monostate>(found->second.value);
    return there ? &found->second : nullptr;
  }
  void refuse(const char* key, const std::string& problem) const { throw Error(at(key), problem); }

 private:
  std::string at(const char* key) const { return cat(place_, ": /", key); }
  StrictObject object_;
  std::string place_;
};

void read_mpt(const ForeignConfig& c, ModelConfig& m) {
  m.width = c.size("d_model");
  m.heads = c.size("n_heads");
  m.layers = c.size("n_layers");
  m.norm_epsilon = c.number("layer_norm_epsilon", 1e-5);
  m.tied_head = c.flag("tie_word_embeddings", true);
  const ForeignConfig attention = c.part("attn_config");
  if (attention.find("clip_qkv") != nullptr)
    attention.refuse("clip_qkv", "clips queries, keys and values, which this program does not");
  if (const double scale = attention.number("softmax_scale", 0); scale != 0)
    m.attention_scale = scale;
}

void read_bloom(const ForeignConfig& c, ModelConfig& m) {
  m.width = c.size("hidden_size");
  m.heads = c.size("n_head");
  m.layers = c.size("n_layer");
  m.norm_epsilon = c.number("layer_norm_epsilon", 1e-5);
  m.tied_head = c.flag("tie_word_embeddings", true);
  m.attention_bias = m.mlp_bias = m.norm_bias = m.embedding_norm = true;
  m.activation = Activation::kGeluTanh;
  if (c.flag("apply_residual_connection_post_layernorm", false))
    c.refuse("apply_residual_connection_post_layernorm", "is true, which this program does not do");
}

Dialect read_config(const ForeignConfig& c, ForeignModel& foreign) {
  const std::string type = c.text("model_type");
  foreign.vocabulary = c.size("vocab_size");
  foreign.model.position = Position::kAlibi;
  if (type == "mpt") {
    read_mpt(c, foreign.model);
  } else if (type == "bloom") {
    read_bloom(c, foreign.model);
  } else {
    c.refuse("model_type", cat("found ", shown(type), ", expected \"mpt\" or \"bloom\""));
  }
  if (foreign.model.width % foreign.model.heads != 0)
    c.refuse("vocab_size",
             cat(foreign.model.heads, " heads do not divide the width ", foreign.model.width));
  foreign.model.key_value_heads = foreign.model.heads;
  foreign.model.mlp_width = 4 * foreign.model.width;
  return type == "mpt" ? Dialect::kMpt : Dialect::kBloom;
}

StrictObject read_json(const fs::path& path) {
  return parse_strict_json(read_file(path, kLargestJson), path.string(),
                           {.depth = 16, .values = 2'000'000});
}

// A name out of an index stays inside the folder.
fs::path file_inside(const fs::path& folder, const std::string& name, const std::string& place) {
  if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos)
    throw Error(place, cat("names the file ", shown(name), ", expected one in its own folder"));
  return folder / name;
}

Tensors read_weights(const fs::path& folder) {
  const fs::path whole = folder / "model.safetensors", index = whole.string() + ".index.json";
  std::error_code ignored;
  if (fs::exists(whole, ignored)) return load_tensors(whole);
  if (!fs::exists(index, ignored)) {
    const bool pickled = fs::exists(folder / "pytorch_model.bin", ignored) ||
                         fs::exists(folder / "pytorch_model.bin.index.json", ignored);
    if (!pickled) throw Error(folder.string(), "holds no model.safetensors");
    throw Error((folder / "pytorch_model.bin").string(),
                "is a pickle file, which may run any code and is never read",
                "in Python: AutoModelForCausalLM.from_pretrained(FOLDER).save_pretrained(NEW)");
  }
  const StrictObject content = read_json(index);
  const std::string place = index.string() + ": /weight_map";
  std::set<std::string> files;
  for (const auto& [name, file] : as_object(required(content, "weight_map", index.string()), place))
    files.insert(as_string(file, place + "/" + name));
  Tensors all;
  for (const std::string& file : files) all.merge(load_tensors(file_inside(folder, file, place)));
  return all;
}

Tensors to_ours(const Tensors& theirs, Dialect dialect, const ForeignModel& foreign,
                const std::string& place) {
  Tensors ours;
  std::set<std::string> known;
  const auto shapes = parameter_shapes(foreign.model, foreign.vocabulary);
  const auto names = tensor_names(dialect, foreign.model);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = theirs.find(names[i].theirs);
    if (found == theirs.end()) throw Error(place, cat("has no tensor ", shown(names[i].theirs)));
    known.insert(names[i].theirs);
    if (!found->second.is_floating_point())
      throw Error(place,
                  cat("tensor ", shown(names[i].theirs), " holds no floating-point numbers"));
    std::vector<std::int64_t> expected = shapes[i].sizes;
    if (names[i].layout == TensorLayout::kTransposed) std::swap(expected.front(), expected.back());
    if (found->second.sizes() != torch::IntArrayRef(expected))
      throw Error(place, cat("tensor ", shown(names[i].theirs), " has shape ",
                             found->second.sizes(), ", expected ", torch::IntArrayRef(expected)));
    ours[names[i].ours] =
        from_layout(found->second.to(torch::kFloat), names[i].layout, foreign.model.heads);
  }
  for (const auto& [name, tensor] : theirs) {
    if (!known.contains(name))
      throw Error(place, cat("has a tensor ", shown(name), " that such a model does not have"));
  }
  return ours;
}

}  // namespace

ForeignModel read_huggingface(const fs::path& folder) {
  const fs::path config = folder / "config.json";
  ForeignModel foreign;
  const Dialect dialect = read_config({read_json(config), config.string()}, foreign);
  foreign.weights = to_ours(read_weights(folder), dialect, foreign, folder.string());
  std::error_code ignored;
  if (fs::exists(folder / "tokenizer.model", ignored))
    foreign.tokenizer_model = read_file(folder / "tokenizer.model", 256ull << 20);
  return foreign;
}

}  // namespace alibi
