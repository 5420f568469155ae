#include "convert/foreign_config.h"

#include "base/error.h"
#include "base/files.h"
#include "base/json/parse.h"
#include "base/json/reader.h"
#include "base/json/write.h"
#include "base/printable.h"
#include "base/strings.h"
#include "config/load.h"

namespace alibi {
namespace {

constexpr std::uint64_t kLargestJson = 16ull << 20;
constexpr std::int64_t kMost = std::int64_t{1} << 31;  // of any size in a config

// Absent keys of a config.json take the class's defaults; null counts as absent.
using Keys = JsonReader;

std::int64_t size_of(const Keys& keys, const char* key) {
  const JsonReader value = keys.at(key);
  if (value.count() < 1 || value.count() > kMost) value.expected(cat("a size from 1 to ", kMost));
  return value.count();
}

[[noreturn]] void refuse(const Keys& keys, const char* key, const std::string& problem) {
  throw Error(keys.place_of(key), problem);
}

// Under either name; both must say the same.
std::int64_t size_of(const Keys& keys, const char* key, const char* alias) {
  if (!keys.has(alias)) return size_of(keys, key);
  const std::int64_t size = size_of(keys, alias);
  if (keys.has(key) && size_of(keys, key) != size)
    refuse(keys, alias, cat("is ", size, ", but ", key, " is ", size_of(keys, key)));
  return size;
}

// Refuses any value but one; absent is that one.
void need(const Keys& keys, const char* key, bool value) {
  if (keys.flag(key, value) != value)
    refuse(keys, key, cat("is ", value ? "false" : "true", ", which this program cannot do"));
}

void need_absent(const Keys& keys, const char* key) {
  if (keys.has(key)) refuse(keys, key, "is given, which this program cannot do");
}

// Nothing for an id that no vocabulary of this size has (GPT-2's default stands in tiny models).
void read_common(const Keys& c, ForeignConfig& foreign) {
  foreign.vocabulary = size_of(c, "vocab_size");
  if (const auto given = c.find("eos_token_id")) {
    const bool list = given->json().is_list();
    if (list && given->list().size() != 1)
      given->fail(cat("names ", given->list().size(), " end tokens"),
                  "documents end with one: keep that one there");
    const std::int64_t id = list ? given->items().front().count() : given->count();
    if (id < foreign.vocabulary)
      foreign.end = id;
    else
      foreign.notes.push_back(cat(given->place(), " is ", id, ", outside a vocabulary of ",
                                  foreign.vocabulary, ": the tokenizer's own end token is taken"));
  }
  foreign.model.norm_epsilon = c.number("layer_norm_epsilon", 1e-5);
  if (!(foreign.model.norm_epsilon > 0)) refuse(c, "layer_norm_epsilon", "is not above 0");
  need_absent(c, "quantization_config");
  foreign.model.tied_head = c.flag("tie_word_embeddings", true);
  if (c.has("trained_length")) foreign.trained = size_of(c, "trained_length");
}

// Dropout is a setting of training, and one that the fast kernels have no part of: said, not taken.
void note_dropout(const Keys& c, const char* key, const char* ours, ForeignConfig& foreign) {
  const double share = c.number(key, 0);
  if (share > 0)
    foreign.notes.push_back(cat(c.place_of(key), " is ", share, " and not taken over: --set ", ours,
                                "=", share, " trains with it"));
}

void read_mpt_attention(const Keys& attention, ForeignConfig& foreign) {
  ModelConfig& m = foreign.model;
  need(attention, "alibi", true);
  need(attention, "prefix_lm", false);
  need(attention, "qk_ln", false);
  need(attention, "rope", false);
  need(attention, "qk_gn", false);
  need_absent(attention, "clip_qkv");
  need_absent(attention, "attn_logit_softcapping");
  if (attention.number("sliding_window_size", -1) != -1)
    refuse(attention, "sliding_window_size", "is given, which this program cannot do");
  if (attention.has("kv_n_heads") && size_of(attention, "kv_n_heads") != m.heads)
    refuse(attention, "kv_n_heads", cat("is not n_heads, ", m.heads));
  if (attention.has("attn_type") && attention.at("attn_type").text() != "multihead_attention")
    refuse(attention, "attn_type", cat("is ", shown(attention.at("attn_type").text())));
  if (const double scale = attention.number("softmax_scale", 0); scale != 0)
    m.attention_scale = scale;
  m.slope_bias_max = attention.number("alibi_bias_max", 8);
  if (!(m.slope_bias_max > 0)) refuse(attention, "alibi_bias_max", "is not above 0");
  if (m.slope_bias_max != 8)
    foreign.notes.push_back(cat(attention.place_of("alibi_bias_max"), " is ", m.slope_bias_max,
                                " and heeded, as in llm-foundry; transformers computes with 8"));
  note_dropout(attention, "attn_pdrop", "model.attention_dropout", foreign);
}

void read_mpt(const Keys& c, ForeignConfig& foreign) {
  ModelConfig& m = foreign.model;
  m.width = size_of(c, "d_model");
  m.heads = size_of(c, "n_heads");
  m.layers = size_of(c, "n_layers");
  m.mlp_width =
      c.number("expansion_ratio", 4) == 4 ? 4 * m.width : m.width * size_of(c, "expansion_ratio");
  need(c, "no_bias", true);
  need_absent(c, "logit_scale");
  if (c.has("norm_type") && !c.at("norm_type").text().ends_with("layernorm"))
    refuse(c, "norm_type", cat("is ", shown(c.at("norm_type").text()), ", expected a layernorm"));
  if (c.number("embedding_fraction", 1) != 1) refuse(c, "embedding_fraction", "is not 1");
  if (c.number("norm_eps", m.norm_epsilon) != m.norm_epsilon)
    refuse(c, "norm_eps", cat("is not layer_norm_epsilon, ", m.norm_epsilon));
  need_absent(c, "final_logit_softcapping");
  need_absent(c, "block_overrides");
  if (const Keys mlp = c.object_or_empty("ffn_config");
      mlp.has("ffn_act_fn") || (mlp.has("ffn_type") && mlp.at("ffn_type").text() != "mptmlp"))
    refuse(c, "ffn_config", "names another MLP than mptmlp with GELU");
  foreign.longest = size_of(c, "max_seq_len");
  read_mpt_attention(c.object_or_empty("attn_config"), foreign);
  note_dropout(c, "resid_pdrop", "model.residual_dropout", foreign);
  note_dropout(c, "emb_pdrop", "model.embedding_dropout", foreign);
}

void read_bloom(const Keys& c, ForeignConfig& foreign) {
  ModelConfig& m = foreign.model;
  m.width = size_of(c, "hidden_size", "n_embed");
  m.heads = size_of(c, "n_head", "num_attention_heads");
  m.layers = size_of(c, "n_layer", "num_hidden_layers");
  m.mlp_width = 4 * m.width;
  m.attention_bias = m.mlp_bias = m.norm_bias = m.embedding_norm = true;
  m.activation = Activation::kGeluTanh;
  need(c, "apply_residual_connection_post_layernorm", false);
  // transformers' sliced products are not the whole ones: logits were seen to differ by 0.6.
  if (c.number("pretraining_tp", 1) != 1) need(c, "slow_but_exact", false);
  note_dropout(c, "attention_dropout", "model.attention_dropout", foreign);
  note_dropout(c, "hidden_dropout", "model.residual_dropout", foreign);
  if (c.has("seq_length")) foreign.longest = size_of(c, "seq_length");
}

Activation gpt2_activation(const Keys& c) {
  const std::string name =
      !c.has("activation_function") ? "gelu_new" : c.at("activation_function").text();
  if (name == "gelu") return Activation::kGelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::kGeluTanh;
  refuse(c, "activation_function", cat("is ", shown(name), ", expected a GELU"));
}

void read_gpt2(const Keys& c, ForeignConfig& foreign) {
  ModelConfig& m = foreign.model;
  m.width = size_of(c, "n_embd", "hidden_size");
  m.heads = size_of(c, "n_head", "num_attention_heads");
  m.layers = size_of(c, "n_layer", "num_hidden_layers");
  m.mlp_width = c.has("n_inner") ? size_of(c, "n_inner") : 4 * m.width;
  foreign.longest = size_of(c, "n_positions", "max_position_embeddings");
  take_form(m, {.kind = PositionForm::kTable, .rows = foreign.longest});
  m.attention_bias = m.mlp_bias = m.norm_bias = true;
  m.activation = gpt2_activation(c);
  if (!c.flag("scale_attn_weights", true)) m.attention_scale = 1;
  note_dropout(c, "attn_pdrop", "model.attention_dropout", foreign);
  note_dropout(c, "resid_pdrop", "model.residual_dropout", foreign);
  note_dropout(c, "embd_pdrop", "model.embedding_dropout", foreign);
  need(c, "scale_attn_by_inverse_layer_idx", false);
  need(c, "add_cross_attention", false);
}

// The class in Python reads `slopes`, this program the keys that they were made from: both must say
// the same. Trained ones are weights.
void check_slopes(const Keys& c, const ModelConfig& m) {
  const auto given = c.find("slopes");
  if (!given || m.learned_slopes) return;
  std::vector<double> theirs;
  for (const JsonReader& slope : given->items()) theirs.push_back(slope.number());
  if (theirs != initial_slopes(m))
    given->fail("differs from the slopes that the keys of `model` give",
                "change /model/slopes, too: Python reads /slopes, this program /model");
}

// This program's own keys, read by its own reader.
void read_own(const Keys& c, ForeignConfig& foreign) {
  const JsonReader model = c.at("model");
  model.object();
  const Json config = {
      {"model", model.json()},
      {"batch",  // no table of positions is shorter
       {{"sequence_length", 1}, {"sequences", 1}, {"train_sequence_length_scaling", 1}}}};
  foreign.model = parse_config(write_json(config), model.place()).model;
  check_slopes(c, foreign.model);
  foreign.longest = size_of(c, "max_position_embeddings");
}

void read_model(const Keys& c, ForeignConfig& foreign) {
  switch (foreign.dialect) {
    case Dialect::kMpt:
      return read_mpt(c, foreign);
    case Dialect::kBloom:
      return read_bloom(c, foreign);
    case Dialect::kGpt2:
      return read_gpt2(c, foreign);
    case Dialect::kOwn:
      return read_own(c, foreign);
    case Dialect::kGguf:
      break;
  }
  c.at("model_type").expected("\"mpt\", \"bloom\", \"gpt2\" or \"alibi\"");
}

}  // namespace

ForeignConfig read_foreign_config(const std::filesystem::path& path) {
  const Json json = parse_json(read_file(path, kLargestJson), path.string(), {.depth = 16});
  const Keys c(json, path.string());
  ForeignConfig foreign;
  take_form(foreign.model, {PositionForm::kPressSlopes, 8});
  read_common(c, foreign);
  // GGUF is no model_type: it stands for all others.
  foreign.dialect = find_enum<Dialect>(c.at("model_type").text()).value_or(Dialect::kGguf);
  read_model(c, foreign);
  ModelConfig& m = foreign.model;
  if (m.width % m.heads != 0)
    throw Error(path.string(), cat(m.heads, " heads do not divide the width ", m.width));
  if (foreign.dialect != Dialect::kOwn) m.key_value_heads = m.heads;
  return foreign;
}

}  // namespace alibi
