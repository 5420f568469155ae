#include "config/fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "config/validate.h"

namespace alibi {
namespace {

constexpr std::array kProtocols = {"non_overlapping", "sliding", "streaming", "one_pass"};
constexpr std::array kStretches = {"none", "linear", "ntk", "yarn"};

using Fields = std::vector<Field>;

template <class Target>
Field& add(Fields& fields, const char* name, Target target, const char* documentation) {
  Field& field = fields.emplace_back();
  field.name = name;
  field.target = std::move(target);
  field.documentation = documentation;
  return field;
}

template <class Enum>
EnumTarget choice(Enum& value, std::vector<std::string> names) {
  return {std::move(names), [&value] { return static_cast<int>(value); },
          [&value](int index) { value = static_cast<Enum>(index); }};
}

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
  const bool alibi = m.position == Position::kAlibi;
  const bool t5 = m.position == Position::kT5;
  const bool by_rule = alibi && m.slopes.empty();
  const char* rule_words = "model.position is \"alibi\" and model.slopes is not given";
  add(f, "position", choice(m.position, {"alibi", "sinusoidal", "learned", "rotary", "t5", "none"}),
      "How the model knows order. alibi: a bias linear in distance on each attention score.");
  add(f, "max_sequence_length", &m.max_sequence_length,
      "Rows of the learned position table: the longest input. Default: the trained length.")
      .range(1, 1 << 24)
      .only_if(m.position == Position::kLearned, "model.position is \"learned\"");
  add(f, "slope_rule", choice(m.slope_rule, {"press", "geometric", "equal", "exponential"}),
      "press: the reference order (powers of two geometric, others interleaved). geometric: "
      "2^(-bias_max h / heads). equal: that list's geometric mean for every head. exponential: "
      "drawn, with that list's mean.")
      .only_if(by_rule, rule_words);
  add(f, "slope_bias_max", &m.slope_bias_max,
      "The last slope of a geometric list is 2^-slope_bias_max.")
      .range(0.01, 64)
      .only_if(by_rule, rule_words);
  add(f, "slope_seed", &m.slope_seed, "Of the exponential rule's draws.")
      .range(0, 9e15)
      .only_if(by_rule && m.slope_rule == SlopeRule::kExponential,
               "model.slope_rule is \"exponential\"");
  add(f, "biased_heads", &m.biased_heads,
      "Heads that carry a bias; the others see all distances alike. Default: all.")
      .range(1, 1024)
      .only_if(by_rule, rule_words);
  add(f, "slopes", &m.slopes, "One slope per head, instead of a rule.")
      .only_if(alibi, "model.position is \"alibi\"");
  add(f, "learned_slopes", &m.learned_slopes, "Train the slopes, from the rule's values.")
      .only_if(alibi, "model.position is \"alibi\"");
  add(f, "rotary_base", &m.rotary_base, "Base of the rotary frequencies.")
      .range(1.001, 1e12)
      .only_if(m.position == Position::kRotary, "model.position is \"rotary\"");
  add(f, "t5_buckets", &m.t5_buckets,
      "Distance buckets: half exact, half logarithmic, the last one open.")
      .range(2, 4096)
      .only_if(t5, "model.position is \"t5\"");
  add(f, "t5_max_distance", &m.t5_max_distance,
      "From this distance on all keys share the last bucket.")
      .range(2, 1 << 24)
      .only_if(t5, "model.position is \"t5\"");
  add(f, "t5_shared", &m.t5_shared, "One bias table for all layers instead of one each.")
      .only_if(t5, "model.position is \"t5\"");
}

void add_details(Fields& f, ModelConfig& m) {
  add(f, "tied_head", &m.tied_head, "The output layer shares the embedding's weights.");
  add(f, "attention_bias", &m.attention_bias, "Biases in the attention's linear layers.");
  add(f, "mlp_bias", &m.mlp_bias, "Biases in the MLP's linear layers.");
  add(f, "norm_bias", &m.norm_bias, "Biases in the layer norms.");
  add(f, "embedding_norm", &m.embedding_norm, "A layer norm right after the embedding.");
  add(f, "attention_scale", &m.attention_scale, "Factor on q.k. Default: 1 / sqrt(head width).")
      .range(1e-9, 1e9);
  add(f, "activation", choice(m.activation, {"gelu", "gelu_tanh"}), "gelu: exact, by erf.");
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

Fields model_fields(ModelConfig& m) {
  Fields f;
  add_shape(f, m);
  add_positions(f, m);
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
  add(f, "length_mixture", &b.length_mixture,
      "Scalings of which each step draws one, such as [0.25, 0.5, 1]; the largest must be "
      "train_sequence_length_scaling, which is what 1x means. Default: that one always.");
  add(f, "micro_batch_tokens", &b.micro_batch_tokens,
      "Tokens per forward and backward pass; gradients add up. Default: the whole batch.")
      .range(1, 1e12);
  return f;
}

Fields data_fields(DataConfig& d) {
  Fields f;
  add(f, "train", &d.train,
      "Text to train on: .txt, .jsonl (key \"text\"), folders, or one folder made by prepare.")
      .free();  // where text lies; the run hash covers what it holds
  add(f, "valid", &d.valid, "Held-out text. Default: valid_fraction of the documents of train.")
      .free();
  add(f, "valid_fraction", &d.valid_fraction,
      "Share of the documents held out, by hash of their content.")
      .range(0, 0.5)
      .only_if(d.valid.empty(), "data.valid is not given");
  add(f, "separate_documents", &d.separate_documents,
      "Each token sees its own document only, in training and evaluation. Default: one joined "
      "stream.");
  add(f, "cache_folder", &d.cache_folder,
      "Where tokenised text is kept. Default: the user's cache folder.")
      .free();
  return f;
}

Fields tokenizer_fields(TokenizerConfig& t) {
  const bool trained = t.kind == TokenizerKind::kBpe && t.file.empty();
  Fields f;
  add(f, "kind", choice(t.kind, {"bpe", "bytes"}),
      "bpe: sentencepiece with byte fallback. bytes: id = byte + 3.");
  add(f, "vocabulary", &t.vocabulary, "Tokens of the trained tokenizer.")
      .range(260, 1 << 24)
      .only_if(t.kind == TokenizerKind::kBpe, "tokenizer.kind is \"bpe\"");
  add(f, "file", &t.file, "An existing sentencepiece model. Default: trained on data.train.")
      .only_if(t.kind == TokenizerKind::kBpe, "tokenizer.kind is \"bpe\"")
      .free();  // the run hash covers the tokenizer itself
  add(f, "sample_bytes", &t.sample_bytes,
      "Text the tokenizer is trained on, spread over all documents.")
      .range(1000, 1e12)
      .only_if(trained, "tokenizer.kind is \"bpe\" and tokenizer.file is not given");
  return f;
}

Fields initialize_fields(InitializeConfig& i) {
  Fields f;
  add(f, "from", &i.from, "A checkpoint of the same shape to take the weights from.");
  add(f, "standard_deviation", &i.standard_deviation,
      "Of the normal initial weights; residual outputs are divided by sqrt(2 layers).")
      .range(1e-6, 10)
      .only_if(i.from.empty(), "initialize.from is not given");
  return f;
}

Fields optimizer_fields(OptimizerConfig& o) {
  Fields f;
  add(f, "learning_rate", &o.learning_rate, "AdamW's peak learning rate.").range(1e-9, 10);
  add(f, "beta1", &o.beta1, "Decay of the first moment.").range(0, 0.99999);
  add(f, "beta2", &o.beta2, "Decay of the second moment.").range(0, 0.9999999);
  add(f, "epsilon", &o.epsilon, "Added to the root of the second moment.").range(1e-16, 1);
  add(f, "weight_decay", &o.weight_decay, "Decoupled decay, on matrices only.").range(0, 10);
  add(f, "clip_norm", &o.clip_norm, "Largest norm of all gradients together; 0: no clipping.")
      .range(0, 1e9);
  return f;
}

Fields schedule_fields(ScheduleConfig& s) {
  Fields f;
  add(f, "kind", choice(s.kind, {"cosine", "linear", "constant", "wsd"}),
      "How the learning rate falls after warm-up. wsd: constant, then linear over decay_tokens.");
  add(f, "warmup_tokens", &s.warmup_tokens, "Linear rise from 0 over this many tokens.")
      .range(0, 1e15);
  add(f, "decay_tokens", &s.decay_tokens,
      "Length of the final fall. Default: a fifth of run.train_tokens.")
      .range(1, 1e15)
      .only_if(s.kind == ScheduleKind::kWsd, "schedule.kind is \"wsd\"");
  add(f, "final_fraction", &s.final_fraction, "Learning rate at the end, as a share of the peak.")
      .range(0, 1)
      .only_if(s.kind != ScheduleKind::kConstant, "schedule.kind is not \"constant\"");
  return f;
}

Fields guard_fields(GuardConfig& g) {
  Fields f;
  add(f, "non_finite", choice(g.non_finite, {"stop", "skip"}),
      "A loss or gradient that is not finite never reaches the weights: stop the run, or skip the "
      "step.");
  return f;
}

Fields run_fields(RunConfig& r, ScheduleKind schedule) {
  Fields f;
  add(f, "name", &r.name, "Names the run in folders, logs and plots.").free();
  add(f, "folder", &r.folder, "Where the run is written. Default: runs/<name>.").free();
  add(f, "seed", &r.seed, "Decides initial weights, order of the text and dropout.").range(0, 9e15);
  Field& end = add(f, "train_tokens", &r.train_tokens,
                   "Tokens to train on, rounded up to whole steps. Free where schedule.kind is "
                   "\"constant\".")
                   .range(1, 1e15);
  // All other schedules fall towards this end: moved, it changes the steps before it too.
  if (schedule == ScheduleKind::kConstant) end.free();
  add(f, "save_every_tokens", &r.save_every_tokens, "Default: a tenth of train_tokens.")
      .range(1, 1e15)
      .free();
  add(f, "evaluate_every_tokens", &r.evaluate_every_tokens,
      "Validation cadence. Default: a tenth of train_tokens.")
      .range(1, 1e15)
      .free();
  add(f, "validation_tokens", &r.validation_tokens,
      "Held-out targets scored at each validation, at most, spread over the held-out text.")
      .range(1, 1e15)
      .free();
  add(f, "log_every_tokens", &r.log_every_tokens, "0: every step.").range(0, 1e15).free();
  add(f, "keep_checkpoints", &r.keep_checkpoints, "Newest checkpoints kept, beside the best one.")
      .range(1, 1e6)
      .free();
  add(f, "patience", &r.patience, "Stop after this many validations without improvement; 0: never.")
      .range(0, 1e9)
      .free();
  return f;
}

Fields evaluate_fields(EvaluateConfig& e) {
  Fields f;
  add(f, "task", choice(e.task, {"perplexity", "passkey"}),
      "perplexity: loss of held-out text. passkey: retrieval of a key hidden in it.")
      .free();
  add(f, "lengths", &e.lengths,
      "Lengths to score: \"4x\" is four times the trained length, \"512\" is absolute.")
      .free();
  add(f, "protocol", choice(e.protocol, {kProtocols.begin(), kProtocols.end()}),
      "non_overlapping: windows side by side. sliding: each window scores its last `stride` "
      "targets. streaming: the text runs through a cache of each length. one_pass: all lengths out "
      "of windows of the longest.")
      .free();
  add(f, "stride", &e.stride, "Targets scored per sliding window. Default: half of each length.")
      .range(1, 1 << 24)
      .only_if(e.protocol == Protocol::kSliding, "evaluate.protocol is \"sliding\"")
      .free();
  add(f, "sinks", &e.sinks,
      "First tokens of the text that a streaming cache keeps for good (attention sinks).")
      .range(0, 1 << 20)
      .only_if(e.protocol == Protocol::kStreaming, "evaluate.protocol is \"streaming\"")
      .free();
  add(f, "split_stride", &e.split_stride,
      "Also slides windows by this stride, which splits each change from 1x into early tokens and "
      "longer context.")
      .range(1, 1 << 24)
      .only_if(e.protocol == Protocol::kNonOverlapping, "evaluate.protocol is \"non_overlapping\"")
      .free();
  add(f, "far_context_tokens", &e.far_context_tokens,
      "Targets, at most, on which the useful context is measured: far tokens replaced, shuffled, "
      "cut. 0: not measured.")
      .range(0, 1e15)
      .free();
  add(f, "max_tokens", &e.max_tokens,
      "Targets scored, at most: of longer text, windows spread evenly over it.")
      .range(1, 1e15)
      .free();
  add(f, "batch_tokens", &e.batch_tokens, "Tokens per forward pass.").range(1, 1e12).free();
  add(f, "stretch", choice(e.stretch, {kStretches.begin(), kStretches.end()}),
      "Positions beyond the trained length, brought back into what the model has seen. linear: all "
      "distances by the factor. ntk: far ones only (ALiBi: the flattest slope by the factor, the "
      "steepest not at all). yarn: rotary only.")
      .free();
  add(f, "stretch_factor", &e.stretch_factor,
      "By how much. Default: each length over the trained length, so shorter ones stay as they "
      "are.")
      .range(1, 1e6)
      .only_if(e.stretch != Stretch::kNone, "evaluate.stretch is not \"none\"")
      .free();
  return f;
}

Fields passkey_fields(EvaluateConfig& e) {
  const bool asked = e.task == Task::kPasskey;
  const char* words = "evaluate.task is \"passkey\"";
  Fields f;
  add(f, "depths", &e.passkey.depths, "Where the key stands: 0 at the start, 1 at the end.")
      .only_if(asked, words)
      .free();
  add(f, "trials", &e.passkey.trials, "Texts at each length and depth.")
      .range(1, 1e6)
      .only_if(asked, words)
      .free();
  add(f, "documents", &e.passkey.documents,
      "Documents in the text, each with a key of its own; one is asked for.")
      .range(1, 26)
      .only_if(asked, words)
      .free();
  return f;
}

Fields runtime_fields(RuntimeConfig& r) {
  Fields f;
  add(f, "device", choice(r.device, {"auto", "cpu", "cuda"}), "auto: cuda where a device is found.")
      .free();
  add(f, "precision", choice(r.precision, {"auto", "fp32", "bf16"}),
      "Of activations; weights and moments stay fp32. auto: bf16 where the processor multiplies "
      "it, resolved once.");
  add(f, "threads", &r.threads, "0: OMP_NUM_THREADS, else all cores.").range(0, 4096).free();
  add(f, "loss_chunk_rows", &r.loss_chunk_rows, "Rows of logits that exist at a time.")
      .range(1, 1 << 24);
  add(f, "recompute", choice(r.recompute, {"none", "blocks"}),
      "blocks: training keeps each block's input only and computes the rest again for its "
      "gradient: less memory, more time, the same bits (but for sums of gradients that blocks "
      "share: T5 buckets, learned slopes).")
      .free();
  return f;
}

Fields attention_fields(AttentionConfig& a) {
  Fields f;
  add(f, "kernel", &a.kernel,
      "auto: the first listed kernel that supports the problem; check: that one, compared with the "
      "reference; or a name.")
      .free();
  add(f, "skip", choice(a.skip, {"exact", "epsilon", "off"}),
      "Blocks of keys left out by kernels that can. exact: those whose weights are all zero; the "
      "same bits as off. epsilon: also those below the rounding of the row they belong to.")
      .free();
  return f;
}

}  // namespace

const char* protocol_name(Protocol protocol) {
  return kProtocols[static_cast<std::size_t>(protocol)];
}

const char* stretch_name(Stretch stretch) { return kStretches[static_cast<std::size_t>(stretch)]; }

Field& Field::range(double low, double high) {
  least = low;
  most = high;
  return *this;
}

Field& Field::one_of(std::vector<double> numbers, std::string words) {
  choices = std::move(numbers);
  choice_words = std::move(words);
  return *this;
}

Field& Field::free() {
  identity = false;
  return *this;
}

Field& Field::only_if(bool holds, std::string words) {
  effective = holds;
  condition = std::move(words);
  return *this;
}

std::string Section::pointer(const Field& field) const {
  std::string text = "/" + path + "/" + field.name;
  std::replace(text.begin(), text.end(), '.', '/');
  return text;
}

std::vector<Section> sections(Config& c) {
  return {
      {"model", "Shape and position method.", model_fields(c.model)},
      {"batch", "What one step sees.", batch_fields(c.batch)},
      {"data", "Text.", data_fields(c.data)},
      {"tokenizer", "Text to token ids.", tokenizer_fields(c.tokenizer)},
      {"initialize", "Weights at step 0.", initialize_fields(c.initialize)},
      {"optimizer", "AdamW.", optimizer_fields(c.optimizer)},
      {"schedule", "Learning rate over tokens.", schedule_fields(c.schedule)},
      {"guard", "What protects the weights.", guard_fields(c.guard)},
      {"run", "Length, cadence and place of a run.", run_fields(c.run, c.schedule.kind)},
      {"evaluate", "Extrapolation curves.", evaluate_fields(c.evaluate)},
      {"evaluate.passkey", "Retrieval of a hidden key.", passkey_fields(c.evaluate)},
      {"runtime", "Machine.", runtime_fields(c.runtime)},
      {"runtime.attention", "Attention kernels.", attention_fields(c.runtime.attention)},
  };
}

}  // namespace alibi
