#include "convert/foreign_config.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "config/load.h"
#include "formats/strict_json.h"

namespace alibi {
namespace {

constexpr std::uint64_t kLargestJson = 16ull << 20;
constexpr std::int64_t kMost = std::int64_t{1} << 31;  // of any size in a config

// A config.json and what may be asked of it; absent keys take the class's defaults.
class Keys {
 public:
  Keys(StrictObject object, std::string place)
      : object_(std::move(object)), place_(std::move(place)) {}

  std::string at(const char* key) const { return cat(place_, ": /", key); }
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
  Keys part(const char* key) const {
    const StrictJson* value = find(key);
    return {value == nullptr ? StrictObject() : as_object(*value, at(key)), at(key)};
  }
  const StrictJson* find(const char* key) const {  // null counts as absent
    const auto found = object_.find(key);
    const bool there =
        found != object_.end() && !std::holds_alternative<std::monostate>(found->second.value);
    return there ? &found->second : nullptr;
  }
  // Under either name; both must say the same.
  std::int64_t size(const char* key, const char* alias) const {
    if (find(alias) == nullptr) return size(key);
    if (find(key) != nullptr && size(key) != size(alias))
      refuse(alias, cat("is ", size(alias), ", but ", key, " is ", size(key)));
    return size(alias);
  }
  // Refuses any value but one; absent is that one.
  void expect(const char* key, bool expected) const {
    if (flag(key, expected) != expected)
      refuse(key, expected ? "is false, which this program cannot do"
                           : "is true, which this program cannot do");
  }
  void expect_absent(const char* key) const {
    if (find(key) != nullptr) refuse(key, "is given, which this program cannot do");
  }
  [[noreturn]] void refuse(const char* key, const std::string& problem) const {
    throw Error(at(key), problem);
  }

 private:
  StrictObject object_;
  std::string place_;
};

// Nothing for an id that no vocabulary of this size has (GPT-2's default stands in tiny models).
void read_common(const Keys& c, ForeignConfig& foreign) {
  foreign.vocabulary = c.size("vocab_size");
  if (const StrictJson* end = c.find("eos_token_id"); end != nullptr) {
    const auto* list = std::get_if<StrictArray>(&end->value);
    const bool one = list != nullptr && list->size() == 1;
    if (list != nullptr && !one)
      throw Error(c.at("eos_token_id"), cat("names ", list->size(), " end tokens"),
                  "documents end with one: keep that one there");
    const std::int64_t id = as_count(one ? list->front() : *end, c.at("eos_token_id"));
    if (id < foreign.vocabulary)
      foreign.end = id;
    else
      foreign.notes.push_back(cat(c.at("eos_token_id"), " is ", id, ", outside a vocabulary of ",
                                  foreign.vocabulary, ": the tokenizer's own end token is taken"));
  }
  foreign.model.norm_epsilon = c.number("layer_norm_epsilon", 1e-5);
  if (!(foreign.model.norm_epsilon > 0)) c.refuse("layer_norm_epsilon", "is not above 0");
  c.expect_absent("quantization_config");
  foreign.model.tied_head = c.flag("tie_word_embeddings", true);
  if (c.find("trained_length") != nullptr) foreign.trained = c.size("trained_length");
}

// Dropout is a setting of training, and one that the fast kernels have no part of: said, not taken.
void note_dropout(const Keys& c, const char* key, const char* ours, ForeignConfig& foreign) {
  const double share = c.number(key, 0);
  if (share > 0)
    foreign.notes.push_back(cat(c.at(key), " is ", share, " and not taken over: --set ", ours, "=",
                                share, " trains with it"));
}

void read_mpt_attention(const Keys& attention, ForeignConfig& foreign) {
  ModelConfig& m = foreign.model;
  attention.expect("alibi", true);
  attention.expect("prefix_lm", false);
  attention.expect("qk_ln", false);
  attention.expect("rope", false);
  attention.expect("qk_gn", false);
  attention.expect_absent("clip_qkv");
  attention.expect_absent("attn_logit_softcapping");
  if (attention.number("sliding_window_size", -1) != -1)
    attention.refuse("sliding_window_size", "is given, which this program cannot do");
  if (attention.find("kv_n_heads") != nullptr && attention.size("kv_n_heads") != m.heads)
    attention.refuse("kv_n_heads", cat("is not n_heads, ", m.heads));
  if (attention.find("attn_type") != nullptr &&
      attention.text("attn_type") != "multihead_attention")
    attention.refuse("attn_type", cat("is ", shown(attention.text("attn_type"))));
  if (const double scale = attention.number("softmax_scale", 0); scale != 0)
    m.attention_scale = scale;
  m.slope_bias_max = attention.number("alibi_bias_max", 8);
  if (!(m.slope_bias_max > 0)) attention.refuse("alibi_bias_max", "is not above 0");
  if (m.slope_bias_max != 8)
    foreign.notes.push_back(cat(attention.at("alibi_bias_max"), " is ", m.slope_bias_max,
                                " and heeded, as in llm-foundry; transformers computes with 8"));
  note_dropout(attention, "attn_pdrop", "model.attention_dropout", foreign);
}

void read_mpt(const Keys& c, ForeignConfig& foreign) {
  ModelConfig& m = foreign.model;
  m.width = c.size("d_model");
  m.heads = c.size("n_heads");
  m.layers = c.size("n_layers");
  m.mlp_width =
      c.number("expansion_ratio", 4) == 4 ? 4 * m.width : m.width * c.size("expansion_ratio");
  c.expect("no_bias", true);
  c.expect_absent("logit_scale");
  if (c.find("norm_type") != nullptr && !c.text("norm_type").ends_with("layernorm"))
    c.refuse("norm_type", cat("is ", shown(c.text("norm_type")), ", expected a layernorm"));
  if (c.number("embedding_fraction", 1) != 1) c.refuse("embedding_fraction", "is not 1");
  if (c.number("norm_eps", m.norm_epsilon) != m.norm_epsilon)
    c.refuse("norm_eps", cat("is not layer_norm_epsilon, ", m.norm_epsilon));
  c.expect_absent("final_logit_softcapping");
  c.expect_absent("block_overrides");
  if (const Keys mlp = c.part("ffn_config");
      mlp.find("ffn_act_fn") != nullptr ||
      (mlp.find("ffn_type") != nullptr && mlp.text("ffn_type") != "mptmlp"))
    c.refuse("ffn_config", "names another MLP than mptmlp with GELU");
  foreign.longest = c.size("max_seq_len");
  read_mpt_attention(c.part("attn_config"), foreign);
  note_dropout(c, "resid_pdrop", "model.residual_dropout", foreign);
  note_dropout(c, "emb_pdrop", "model.embedding_dropout", foreign);
}

void read_bloom(const Keys& c, ForeignConfig& foreign) {
  ModelConfig& m = foreign.model;
  m.width = c.size("hidden_size", "n_embed");
  m.heads = c.size("n_head", "num_attention_heads");
  m.layers = c.size("n_layer", "num_hidden_layers");
  m.mlp_width = 4 * m.width;
  m.attention_bias = m.mlp_bias = m.norm_bias = m.embedding_norm = true;
  m.activation = Activation::kGeluTanh;
  c.expect("apply_residual_connection_post_layernorm", false);
  // transformers' sliced products are not the whole ones: logits were seen to differ by 0.6.
  if (c.number("pretraining_tp", 1) != 1) c.expect("slow_but_exact", false);
  note_dropout(c, "attention_dropout", "model.attention_dropout", foreign);
  note_dropout(c, "hidden_dropout", "model.residual_dropout", foreign);
  if (c.find("seq_length") != nullptr) foreign.longest = c.size("seq_length");
}

Activation gpt2_activation(const Keys& c) {
  const std::string name =
      c.find("activation_function") == nullptr ? "gelu_new" : c.text("activation_function");
  if (name == "gelu") return Activation::kGelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::kGeluTanh;
  c.refuse("activation_function", cat("is ", shown(name), ", expected a GELU"));
}

void read_gpt2(const Keys& c, ForeignConfig& foreign) {
  ModelConfig& m = foreign.model;
  m.width = c.size("n_embd", "hidden_size");
  m.heads = c.size("n_head", "num_attention_heads");
  m.layers = c.size("n_layer", "num_hidden_layers");
  m.mlp_width = c.find("n_inner") != nullptr ? c.size("n_inner") : 4 * m.width;
  m.position = Position::kLearned;
  m.max_sequence_length = foreign.longest = c.size("n_positions", "max_position_embeddings");
  m.attention_bias = m.mlp_bias = m.norm_bias = true;
  m.activation = gpt2_activation(c);
  if (!c.flag("scale_attn_weights", true)) m.attention_scale = 1;
  note_dropout(c, "attn_pdrop", "model.attention_dropout", foreign);
  note_dropout(c, "resid_pdrop", "model.residual_dropout", foreign);
  note_dropout(c, "embd_pdrop", "model.embedding_dropout", foreign);
  c.expect("scale_attn_by_inverse_layer_idx", false);
  c.expect("add_cross_attention", false);
}

// This program's own keys, read by its own reader.
void read_own(const Keys& c, const std::string& text, ForeignConfig& foreign) {
  if (c.find("model") == nullptr) c.refuse("model", "is missing");
  c.part("model");  // an object
  const nlohmann::json config = {
      {"model", nlohmann::json::parse(text).at("model")},
      {"batch",  // no table of positions is shorter
       {{"sequence_length", 1}, {"sequences", 1}, {"train_sequence_length_scaling", 1}}}};
  foreign.model = parse_config(config.dump(), c.at("model")).model;
  foreign.longest = c.size("max_position_embeddings");
}

}  // namespace

ForeignConfig read_foreign_config(const std::filesystem::path& path) {
  const std::string text = read_file(path, kLargestJson);
  const Keys c(parse_strict_json(text, path.string(), {.depth = 16, .values = 1'000'000}),
               path.string());
  ForeignConfig foreign;
  foreign.model.position = Position::kAlibi;
  read_common(c, foreign);
  const std::string type = c.text("model_type");
  if (type == "mpt") {
    foreign.dialect = Dialect::kMpt;
    read_mpt(c, foreign);
  } else if (type == "bloom") {
    foreign.dialect = Dialect::kBloom;
    read_bloom(c, foreign);
  } else if (type == "gpt2") {
    foreign.dialect = Dialect::kGpt2;
    read_gpt2(c, foreign);
  } else if (type == "alibi") {
    foreign.dialect = Dialect::kOwn;
    read_own(c, text, foreign);
  } else {
    c.refuse("model_type",
             cat("found ", shown(type), ", expected \"mpt\", \"bloom\", \"gpt2\" or \"alibi\""));
  }
  ModelConfig& m = foreign.model;
  if (m.width % m.heads != 0)
    throw Error(path.string(), cat(m.heads, " heads do not divide the width ", m.width));
  if (foreign.dialect != Dialect::kOwn) m.key_value_heads = m.heads;
  return foreign;
}

}  // namespace alibi
