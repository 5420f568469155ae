// Keys of the model, its batches and its text.
#include <cmath>

#include "base/strings.h"
#include "config/field_builders.h"
#include "config/validate.h"

namespace alibi {
namespace {

std::vector<double> powers_of_one_half() {
  std::vector<double> all;
  for (int i = 0; i <= kMostHalvings; ++i) all.push_back(std::ldexp(1.0, -i));
  return all;
}

void add_shape(Fields& f, ModelConfig& m) {
  add(f, "layers", &m.layers, "Transformer blocks.").range(1, 1024);
  add(f, "width", &m.width, "Width of the residual stream; a multiple of heads.").range(1, 1 << 20);
  add(f, "heads", &m.heads, "Attention heads.").range(1, 1024);
  add(f, "key_value_heads", &m.key_value_heads,
      "Heads of keys and values, each shared by heads / key_value_heads queries. Default: heads.")
      .range(1, 1024);
  add(f, "mlp_width", &m.mlp_width, "Hidden width of the MLP. Default: 4 * width.")
      .range(1, 1 << 22);
}

void add_positions(Fields& f, ModelConfig& m) {
  const auto has_table = [](const PositionMethod& method) { return method.has_table; };
  add(f, "position", choice(m.position),
      "Positional encoding. alibi: a bias on each attention score, linear in the distance. "
      "forgetting: forget gates (FoX; CABLE's biases are the same).");
  add(f, "max_sequence_length", &m.max_sequence_length,
      "Rows of the learned position table: the longest input. Default: the trained length.")
      .range(1, 1 << 24)
      .only_if(position_method(m.position).has_table,
               cat("model.position is \"", positions_where(has_table), "\""));
  for (const Position position : all_positions())
    if (const auto add_fields = position_method(position).add_fields) add_fields(f, m);
}

void add_pattern(Fields& f, ModelConfig& m) {
  add(f, "attention_pattern", &m.attention_pattern,
      "Which earlier keys a query sees: entries like \"window(256) + global(16)\" or \"layers "
      "0,2-3 "
      "heads 4-7: fixed(128, 8)\", of which the last that names a head decides. A query sees what "
      "at least one part shows: all, window(W) the last W keys, dilated(W, D) every D-th of the "
      "last W "
      "D, "
      "strided(S) the last S and every S-th, fixed(S, C) its segment of S and the last C keys of "
      "each, blockwise(B) its segment, global(G) the first G keys of its document, random(R) R "
      "blocks of 64 earlier keys, drawn for each block of 64 queries of each head, and its own. Or "
      "alone, for whole layers, lsh(B, M, R): queries are keys, too, hashed into B buckets R "
      "times; "
      "a query sees the keys of its bucket in its chunk of M and the one before (Reformer, Kitaev "
      "et al. 2020). "
      "Default: all earlier keys.")
      .counts_if(!m.attention_pattern.empty());
}

void add_details(Fields& f, ModelConfig& m) {
  add(f, "reversible", &m.reversible,
      "Two residual streams, in fp32, of which a layer's attention and MLP each change one by the "
      "other (Reformer, Kitaev et al. 2020): training recomputes activations from outputs, and "
      "their memory does not grow with the number of layers.")
      .counts_if(m.reversible);
  add(f, "tied_head", &m.tied_head, "The output layer shares the embedding's weights.");
  add(f, "attention_bias", &m.attention_bias, "Biases in the attention's linear layers.");
  add(f, "mlp_bias", &m.mlp_bias, "Biases in the MLP's linear layers.");
  add(f, "norm_bias", &m.norm_bias, "Biases in the layer norms.");
  add(f, "embedding_norm", &m.embedding_norm, "A layer norm right after the embedding.");
  add(f, "attention_scale", &m.attention_scale, "Factor on q.k. Default: 1 / sqrt(head width).")
      .range(1e-9, 1e9);
  add(f, "scalable_softmax", &m.scalable_softmax,
      "q.k is also multiplied by s log n, n the keys up to a query in its document (a pattern does "
      "not count), s learned for each head and layer (Nakanishi 2025); the bias is not.")
      .counts_if(m.scalable_softmax);
  add(f, "activation", choice(m.activation), "gelu: exact, by erf.");
  add(f, "norm_epsilon", &m.norm_epsilon, "Added to the variance in layer norms.")
      .range(1e-12, 0.1);
  add(f, "embedding_dropout", &m.embedding_dropout, "Dropout on embeddings.").range(0, 0.95);
  add(f, "attention_dropout", &m.attention_dropout, "Dropout on attention probabilities.")
      .range(0, 0.95);
  add(f, "residual_dropout", &m.residual_dropout, "Dropout on what each block adds.")
      .range(0, 0.95);
  add(f, "mlp_dropout", &m.mlp_dropout, "Dropout inside the MLP.").range(0, 0.95);
  add(f, "causal", &m.causal, "Always true: a decoder sees the past only.");
}

}  // namespace

Fields model_fields(ModelConfig& m) {
  Fields f;
  add_shape(f, m);
  add_positions(f, m);
  add_pattern(f, m);
  add_details(f, m);
  return f;
}

Fields batch_fields(BatchConfig& b) {
  Fields f;
  add(f, "sequence_length", &b.sequence_length, "L: targets per sequence before scaling.")
      .range(1, 1 << 24);
  add(f, "sequences", &b.sequences, "B: sequences per step before scaling.").range(1, 1 << 20);
  add(f, "train_sequence_length_scaling", &b.train_sequence_length_scaling,
      "s in {1, 1/2, 1/4, ...}: a batch (B, L) is trained as (B / s, L * s), the same tokens a "
      "step.")
      .one_of(powers_of_one_half(), "1, 1/2, 1/4, 1/8, ...");  // validate.cc says the way out
  add(f, "draw", choice(b.draw),
      "What a step draws from the text, with a scaling below 1. sequences: B of L targets, each "
      "cut "
      "into its 1 / s rows (as Composer reshapes batches). rows: each of the B / s rows by itself, "
      "from more places of the text, which learns more from as many tokens.")
      .counts_if(b.draw != Draw::kSequences)
      .only_if(b.length_mixture.empty(), "batch.length_mixture is not given");
  add(f, "length_mixture", &b.length_mixture,
      "Each step draws one of these scalings, for example [0.25, 0.5, 1]; the largest must be "
      "train_sequence_length_scaling, which defines 1x. Default: always that one.");
  add(f, "micro_batch_tokens", &b.micro_batch_tokens,
      "Tokens per forward and backward pass; gradients add up. Default: the whole batch.")
      .range(1, 1e12)
      .may_change();
  add(f, "lanes", &b.lanes,
      "K: the sequences of a step are summed in K equal parts, those in a fixed binary tree, so "
      "that 1 process or several compute the same bits: as many as divide K into powers of two. "
      "Default: the number of processes that a run is started with.")
      .range(1, 1 << 20);
  return f;
}

Fields data_fields(DataConfig& d) {
  Fields f;
  add(f, "train", &d.train,
      "Text to train on: .txt, .jsonl (\"text\", or \"prompt\" and \"completion\"), folders, "
      "patterns (\"books/*.txt\"), .bin of token ids, or one folder made by prepare.")
      .free();  // where text lies; the run hash covers what it holds
  add(f, "valid", &d.valid, "Held-out text. Default: valid_fraction of the documents of train.")
      .free();
  add(f, "valid_fraction", &d.valid_fraction,
      "Share of the documents held out, by hash of their content; where that leaves one side "
      "empty, "
      "the last of the text.")
      .range(0, 0.5)
      .only_if(d.valid.empty(), "data.valid is not given");
  add(f, "separate_documents", &d.separate_documents,
      "Attention is masked at document borders, in training and evaluation. Default: documents "
      "form one stream.");
  add(f, "cache_folder", &d.cache_folder,
      "Where tokenised text is kept. Default: the user's cache folder.")
      .free();
  return f;
}

Fields tokenizer_fields(TokenizerConfig& t) {
  const bool trained = t.kind == TokenizerKind::kBpe && t.file.empty();
  Fields f;
  add(f, "kind", choice(t.kind), "bpe: sentencepiece with byte fallback. bytes: id = byte + 3.");
  add(f, "vocabulary", &t.vocabulary, "Tokens of the trained tokenizer.")
      .range(260, 1 << 24)
      .only_if(t.kind == TokenizerKind::kBpe, "tokenizer.kind is \"bpe\"");
  add(f, "file", &t.file,
      "An existing sentencepiece model, or a tokenizer.json of byte-level BPE. Default: trained on "
      "data.train.")
      .only_if(t.kind == TokenizerKind::kBpe, "tokenizer.kind is \"bpe\"")
      .free();  // the run hash covers the tokenizer itself
  add(f, "sample_bytes", &t.sample_bytes,
      "Text the tokenizer is trained on, spread over all documents.")
      .range(1000, 1e12)
      .only_if(trained, "tokenizer.kind is \"bpe\" and tokenizer.file is not given");
  return f;
}

}  // namespace alibi
