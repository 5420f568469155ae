// Configs that must be refused. Each expected line lists, parted by '|', what one line of the
// message must name: the JSON pointer, what was found, what was expected.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "support/error_text.h"

namespace alibi {

struct BadConfig {
  std::string text;
  std::vector<std::string> lines;
};

inline std::vector<BadConfig> not_json() {
  return {
      {"", {"JSON"}},
      {"   \n", {"JSON"}},
      {"{", {"JSON"}},
      {"{} {}", {"JSON"}},
      {"{} x", {"JSON"}},
      {"{\"model\": {\"heads\": 8,}}", {"JSON"}},
      {"{'model': {}}", {"JSON"}},
      {"{\"model\": {\"heads\": 08}}", {"JSON"}},
      {"{\"model\": {\"rotary_base\": NaN}}", {"JSON"}},
      {"{\"optimizer\": {\"epsilon\": 1e999}}", {"JSON|1e999"}},
      {"{\"run\": {\"name\": \"\xff\"}}", {"JSON"}},
      {"[]", {"object"}},
      {"3", {"3|object"}},
      {"\"x\"", {"\"x\"|object"}},
      {"null", {"null|object"}},
      {"{\"run\": {}, \"run\": {}}", {"/run"}},
      {"{\"model\": {\"heads\": 8, \"heads\": 8}}", {"/model/heads"}},
      {"{\"data\": {\"train\": [{\"a\": 1, \"a\": 2}]}}", {"/data/train/0/a"}},
      {"{\"x/y\": 1, \"x/y\": 1}", {"/x~1y"}},
      {"{\"a\": 1, \"a\": 2, \"b\": {\"c\": 1, \"c\": 1}}", {"/a", "/b/c"}},
  };
}

inline std::vector<BadConfig> wrong_types() {
  const std::string whole = "|1|1024";
  return {
      {"{\"model\": {\"heads\": 4.7}}", {"/model/heads|4.7" + whole}},
      {"{\"model\": {\"heads\": true}}", {"/model/heads|true" + whole}},
      {"{\"model\": {\"heads\": 1e300}}", {"/model/heads|1e+300" + whole}},
      {"{\"model\": {\"heads\": 0.5}}", {"/model/heads|0.5" + whole}},
      {"{\"model\": {\"heads\": 3000000000000000000000}}", {"/model/heads|3e+21" + whole}},
      {"{\"model\": {\"heads\": 18446744073709551615}}",
       {"/model/heads|18446744073709551615" + whole}},
      {"{\"model\": {\"heads\": -1}}", {"/model/heads|-1" + whole}},
      {"{\"model\": {\"heads\": 0}}", {"/model/heads|0" + whole}},
      {"{\"model\": {\"heads\": 1025}}", {"/model/heads|1025" + whole}},
      {"{\"model\": {\"heads\": \"7\"}}", {"/model/heads|\"7\"" + whole}},
      {"{\"model\": {\"heads\": null}}", {"/model/heads|null" + whole}},
      {"{\"model\": {\"heads\": []}}", {"/model/heads" + whole}},
      {"{\"model\": {\"heads\": {}}}", {"/model/heads|object" + whole}},
      {"{\"optimizer\": {\"beta1\": \"0.9\"}}", {"/optimizer/beta1|\"0.9\"|number"}},
      {"{\"optimizer\": {\"beta1\": true}}", {"/optimizer/beta1|true|number"}},
      {"{\"optimizer\": {\"beta1\": 1}}", {"/optimizer/beta1|1|0|0.99999"}},
      {"{\"optimizer\": {\"beta1\": null}}", {"/optimizer/beta1|null"}},
      {"{\"model\": {\"tied_head\": 1}}", {"/model/tied_head|1|true|false"}},
      {"{\"model\": {\"tied_head\": \"true\"}}", {"/model/tied_head|true|false"}},
      {"{\"model\": {\"tied_head\": null}}", {"/model/tied_head|null|true|false"}},
      {"{\"run\": {\"name\": 5}}", {"/run/name|5|string"}},
      {"{\"run\": {\"folder\": null}}", {"/run/folder|null|string"}},
      {"{\"data\": {\"train\": \"a.txt\"}}", {"/data/train|\"a.txt\"|strings"}},
      {"{\"data\": {\"train\": [\"a\", 1]}}", {"/data/train/1|1|string"}},
      {"{\"model\": {\"slopes\": 0.5}}", {"/model/slopes|0.5|numbers"}},
      {"{\"model\": {\"slopes\": [0.5, true]}}", {"/model/slopes/1|true|number"}},
      {"{\"model\": {\"position\": \"alibbi\"}}", {"/model/position|\"alibbi\"|\"alibi\""}},
      {"{\"model\": {\"position\": 3}}", {"/model/position|3|alibi"}},
      {"{\"model\": 5}", {"/model|5|object"}},
      {"{\"model\": null}", {"/model|null|object"}},
      {"{\"runtime\": {\"attention\": 3}}", {"/runtime/attention|3|object"}},
  };
}

inline std::vector<BadConfig> unknown_keys() {
  return {
      {"{\"modle\": {}}", {"/modle|model"}},
      {"{\"model\": {\"head\": 8}}", {"/model/head|heads"}},
      {"{\"model\": {\"sequence_length\": 8}}", {"/model/sequence_length|batch.sequence_length"}},
      {"{\"heads\": 8}", {"/heads|model.heads"}},
      {"{\"kernel\": \"auto\"}", {"/kernel|runtime.attention.kernel"}},
      {"{\"attention\": {}}", {"/attention|runtime.attention"}},
      {"{\"runtime\": {\"atention\": {}}}", {"/runtime/atention|attention"}},
      {"{\"model.heads\": 8}", {"/model.heads|--set"}},
      {"{\"runtime.attention\": {}}", {"/runtime.attention|--set"}},
      {"{\"zzzzzzzzzzzz\": 1}", {"/zzzzzzzzzzzz|alibi inspect schema"}},
      {"{\"model\": {\"$schema\": \"x\"}}", {"/model/$schema"}},
      {"{\"\": 1}", {"/"}},
  };
}

inline std::vector<BadConfig> broken_rules() {
  return {
      {"{\"model\": {\"heads\": 7}}", {"/model/heads|7|256"}},
      {"{\"model\": {\"width\": 12, \"heads\": 4, \"position\": \"rotary\"}}",
       {"/model/position|3"}},
      {"{\"model\": {\"width\": 9, \"heads\": 3, \"position\": \"sinusoidal\"}}",
       {"/model/position|9"}},
      {"{\"model\": {\"key_value_heads\": 3}}", {"/model/key_value_heads|3|8"}},
      {"{\"model\": {\"heads\": 4, \"attention_pattern\": [\"heads 0-2: window(8)\", "
       "\"window(4)\"]}}",
       {"/model/attention_pattern/0|effect"}},
      {"{\"model\": {\"attention_pattern\": [\"layers 0: window(8)\", \"layers 1: window(4)\", "
       "\"layers 0: window(2)\"]}}",
       {"/model/attention_pattern/0|effect"}},
      {"{\"model\": {\"key_value_heads\": 4, \"attention_pattern\": [\"lsh(4, 8, 2)\"]}}",
       {"/model/key_value_heads|4|8|lsh"}},
      {"{\"model\": {\"attention_pattern\": [\"layers 1 heads 0-3: lsh(4, 8, 2)\"]}}",
       {"/model/attention_pattern|layer 1|all"}},
      {"{\"model\": {\"causal\": false}}", {"/model/causal|false|true"}},
      {"{\"model\": {\"heads\": 2, \"slopes\": [0.5]}}", {"/model/slopes|1|2"}},
      {"{\"model\": {\"heads\": 2, \"slopes\": [0.5, 0]}}", {"/model/slopes/1|0"}},
      {"{\"model\": {\"heads\": 2, \"slopes\": [0.5, 1e39]}}", {"/model/slopes/1|1e+39|1000"}},
      {"{\"run\": {\"name\": \"a\\u0000b\"}}", {"/run/name|control"}},
      {"{\"run\": {\"folder\": \"a\\nb\"}}", {"/run/folder|control"}},
      {"{\"model\": {\"heads\": 1, \"slopes\": [-0.5]}}", {"/model/slopes/0|-0.5"}},
      {"{\"model\": {\"position\": \"t5\", \"t5_max_distance\": 16}}",
       {"/model/t5_max_distance|16|t5_buckets"}},
      {"{\"batch\": {\"train_sequence_length_scaling\": 2}}",
       {"/batch/train_sequence_length_scaling|2|1|batch.sequence_length"}},
      {"{\"batch\": {\"train_sequence_length_scaling\": 0.3}}",
       {"/batch/train_sequence_length_scaling|0.3|1/4"}},
      {"{\"batch\": {\"train_sequence_length_scaling\": 0}}",
       {"/batch/train_sequence_length_scaling|0"}},
      {"{\"batch\": {\"train_sequence_length_scaling\": -0.5}}",
       {"/batch/train_sequence_length_scaling|-0.5"}},
      {"{\"batch\": {\"sequence_length\": 100, \"train_sequence_length_scaling\": 0.125}}",
       {"/batch/train_sequence_length_scaling|100|0.125|batch.sequence_length|8"}},
      {"{\"batch\": {\"sequence_length\": 64, \"sequences\": 4, \"micro_batch_tokens\": 100}}",
       {"/batch/micro_batch_tokens|100|64|256"}},
      {"{\"batch\": {\"sequence_length\": 64, \"sequences\": 4, \"micro_batch_tokens\": 192}}",
       {"/batch/micro_batch_tokens|192"}},
      {"{\"batch\": {\"sequence_length\": 64, \"sequences\": 4, \"micro_batch_tokens\": 512}}",
       {"/batch/micro_batch_tokens|512"}},
      {"{\"model\": {\"position\": \"learned\", \"max_sequence_length\": 256}}",
       {"/model/max_sequence_length|256|512"}},
      {"{\"schedule\": {\"warmup_tokens\": 11}, \"run\": {\"train_tokens\": 10}}",
       {"/schedule/warmup_tokens|11|run.train_tokens|10"}},
      {"{\"schedule\": {\"kind\": \"wsd\", \"warmup_tokens\": 5, \"decay_tokens\": 6}, "
       "\"run\": {\"train_tokens\": 10}}",
       {"/schedule/decay_tokens|11|10"}},
      {"{\"schedule\": {\"kind\": \"wsd\", \"warmup_tokens\": 9}, \"run\": {\"train_tokens\": 10}}",
       {"/schedule/decay_tokens|11|10"}},
      {"{\"evaluate\": {\"lengths\": []}}", {"/evaluate/lengths|empty"}},
      {"{\"evaluate\": {\"lengths\": [\"1x\", \"x\"]}}", {"/evaluate/lengths/1|\"x\""}},
      {"{\"evaluate\": {\"lengths\": [\"0x\", \"1.5\"]}}",
       {"/evaluate/lengths/0|\"0x\"", "/evaluate/lengths/1|\"1.5\""}},
      {"{\"model\": {\"heads\": 4, \"biased_heads\": 5}}", {"/model/biased_heads|5|4"}},
      {"{\"batch\": {\"length_mixture\": [1, 0.3]}}", {"/batch/length_mixture/1|0.3"}},
      {"{\"batch\": {\"length_mixture\": [0.25, 0.5]}}",
       {"/batch/length_mixture|0.5|train_sequence_length_scaling|1"}},
      {"{\"batch\": {\"train_sequence_length_scaling\": 0.5, \"length_mixture\": [1]}}",
       {"/batch/length_mixture/0|1|0.5"}},
      {"{\"evaluate\": {\"protocol\": \"one_pass\", \"stretch\": \"linear\"}}",
       {"/evaluate/stretch|stretch_factor"}},
      {"{\"model\": {\"position\": \"rotary\", \"rotary_scaling\": \"yarn\"}}",
       {"/model/rotary_original_length|missing|yarn"}},
      {"{\"model\": {\"position\": \"rotary\", \"rotary_scaling\": \"yarn\", "
       "\"rotary_original_length\": 512}, \"batch\": {\"sequence_length\": 512}}",
       {"/model/rotary_original_length|512"}},
      {"{\"model\": {\"position\": \"rotary\", \"rotary_scaling\": \"yarn\", "
       "\"rotary_original_length\": 64, \"rotary_scaling_factor\": 4}, "
       "\"batch\": {\"sequence_length\": 512}}",
       {"/model/rotary_scaling_factor|4|512"}},
      {"{\"model\": {\"position\": \"rotary\", \"rotary_scaling\": \"linear\", "
       "\"rotary_original_length\": 64}, \"evaluate\": {\"stretch\": \"ntk\"}}",
       {"/evaluate/stretch|already"}},
      {"{\"evaluate\": {\"protocol\": \"streaming\"}, \"data\": {\"separate_documents\": true}}",
       {"/evaluate/protocol|data.separate_documents"}},
      {"{\"model\": {\"position\": \"rotary\"}, "
       "\"evaluate\": {\"protocol\": \"streaming\", \"sinks\": 4}}",
       {"/evaluate/sinks|alibi|t5|none"}},
      {"{\"evaluate\": {\"task\": \"passkey\", \"answers\": {\"documents\": 2}}, "
       "\"data\": {\"separate_documents\": true}}",
       {"/evaluate/answers/documents|data.separate_documents"}},
      {"{\"evaluate\": {\"task\": \"passkey\", \"answers\": {\"depths\": [0, 1.5]}}}",
       {"/evaluate/answers/depths/1|1.5"}},
      {"{\"evaluate\": {\"task\": \"passkey\", \"answers\": {\"depths\": []}}}",
       {"/evaluate/answers/depths|empty"}},
      {"{\"run\": {\"name\": \"\"}}", {"/run/name|\"\""}},
      {"{\"run\": {\"name\": \"a/b\"}}", {"/run/name|\"a/b\""}},
      {"{\"data\": {\"train\": [\"\"]}}", {"/data/train/0|empty"}},
  };
}

inline std::vector<BadConfig> without_effect() {
  const std::string no = "|no effect";
  return {
      {"{\"model\": {\"max_sequence_length\": 512}}", {"/model/max_sequence_length|learned" + no}},
      {"{\"model\": {\"position\": \"rotary\", \"t5_buckets\": 32}}", {"/model/t5_buckets" + no}},
      {"{\"model\": {\"t5_shared\": true}}", {"/model/t5_shared" + no}},
      {"{\"model\": {\"rotary_base\": 10000}}", {"/model/rotary_base" + no}},
      {"{\"model\": {\"position\": \"rotary\", \"rotary_original_length\": 64}}",
       {"/model/rotary_original_length|rotary_scaling" + no}},
      {"{\"model\": {\"position\": \"none\", \"slopes\": [0.5]}}", {"/model/slopes" + no}},
      {"{\"model\": {\"heads\": 1, \"slopes\": [0.5], \"slope_rule\": \"press\"}}",
       {"/model/slope_rule" + no}},
      {"{\"model\": {\"position\": \"t5\", \"learned_slopes\": true}}",
       {"/model/learned_slopes" + no}},
      {"{\"schedule\": {\"decay_tokens\": 10}}", {"/schedule/decay_tokens|wsd" + no}},
      {"{\"optimizer\": {\"kind\": \"muom\"}}", {"/optimizer/kind|muom|muon"}},
      {"{\"optimizer\": {\"momentum\": 0.9}}", {"/optimizer/momentum|optimizer.kind" + no}},
      {"{\"optimizer\": {\"matrix_learning_rate\": 0.01}}",
       {"/optimizer/matrix_learning_rate|optimizer.kind" + no}},
      {"{\"optimizer\": {\"matrix_weight_decay\": 0.1}}",
       {"/optimizer/matrix_weight_decay|optimizer.kind" + no}},
      {"{\"schedule\": {\"kind\": \"constant\", \"final_fraction\": 0.1}}",
       {"/schedule/final_fraction" + no}},
      {"{\"tokenizer\": {\"kind\": \"bytes\", \"vocabulary\": 300}}",
       {"/tokenizer/vocabulary" + no}},
      {"{\"tokenizer\": {\"kind\": \"bytes\", \"file\": \"x\"}}", {"/tokenizer/file" + no}},
      {"{\"tokenizer\": {\"file\": \"x\", \"sample_bytes\": 5000}}",
       {"/tokenizer/sample_bytes" + no}},
      {"{\"data\": {\"valid\": [\"a\"], \"valid_fraction\": 0.1}}", {"/data/valid_fraction" + no}},
      {"{\"evaluate\": {\"stride\": 8}}", {"/evaluate/stride|sliding" + no}},
      {"{\"evaluate\": {\"sinks\": 4}}", {"/evaluate/sinks|streaming" + no}},
      {"{\"evaluate\": {\"protocol\": \"sliding\", \"split_stride\": 8}}",
       {"/evaluate/split_stride|non_overlapping" + no}},
      {"{\"evaluate\": {\"answers\": {\"trials\": 2}}}",
       {"/evaluate/answers/trials|perplexity" + no}},
      {"{\"model\": {\"slope_seed\": 1}}", {"/model/slope_seed|exponential" + no}},
      {"{\"guard\": {\"spike_window\": 64}}", {"/guard/spike_window|guard.spikes" + no}},
      {"{\"guard\": {\"spike_deviations\": 4}}", {"/guard/spike_deviations|guard.spikes" + no}},
      {"{\"guard\": {\"max_rollbacks\": 4, \"non_finite\": \"skip\"}}",
       {"/guard/max_rollbacks|roll_back" + no}},
      {"{\"model\": {\"heads\": 1.5, \"hats\": 1}, \"run\": {\"seed\": -1}, \"x\": 1}",
       {"/model/heads|1.5", "/model/hats|heads", "/run/seed|-1", "/x"}},
  };
}

// One start shows them all: types, ranges, effects, unknown keys and rules. A rule or condition
// that reads a faulty key is not asked.
inline std::vector<BadConfig> mixed() {
  return {
      {"{\"model\": {\"heads\": 7, \"layrs\": 2}}", {"/model/layrs", "/model/heads|7"}},
      {"{\"x\": 1, \"model\": {\"t5_shared\": true}, \"run\": {\"name\": \"\"}}",
       {"/x", "/model/t5_shared|no effect", "/run/name|\"\""}},
      {"{\"schedule\": {\"decay_tokens\": 10, \"warmup_tokens\": 11}, "
       "\"run\": {\"train_tokens\": 10, \"seed\": -1}}",
       {"/run/seed|-1", "/schedule/decay_tokens|no effect", "/schedule/warmup_tokens|11"}},
      {"{\"batch\": {\"train_sequence_length_scaling\": 0.3, \"micro_batch_tokens\": 7}, "
       "\"model\": {\"key_value_heads\": 3}}",
       {"/model/key_value_heads", "/batch/train_sequence_length_scaling|0.3"}},
      {"{\"model\": {\"heads\": 0, \"width\": 9, \"position\": \"sinusoidal\"}}",
       {"/model/heads|0", "/model/position|9"}},
      {"{\"model\": {\"position\": \"rotray\", \"rotary_base\": 100}}", {"/model/position|rotray"}},
      {"{\"model\": 5, \"batch\": {\"sequence_length\": 0, \"sequences\": 0}}",
       {"/model|5", "/batch/sequence_length|0", "/batch/sequences|0"}},
      {"{\"batch\": {\"sequence_length\": 16}, \"evaluate\": {\"lengths\": [\"1.3x\", \"1.5x\"]}}",
       {"/evaluate/lengths/0|\"1.3x\"|16"}},
      {"{\"batch\": {\"train_sequence_length_scaling\": 1e-300}}",
       {"/batch/train_sequence_length_scaling|1e-300"}},
  };
}

inline std::vector<BadConfig> bad_configs() {
  std::vector<BadConfig> all = not_json();
  for (const auto& part :
       {wrong_types(), unknown_keys(), broken_rules(), without_effect(), mixed()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

// "" when `message` is what the case expects: as many lines, each headed by `file` and holding its
// parts; else what is missing.
inline std::string mismatch_of(const BadConfig& bad, const std::string& message,
                               const std::string& file) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < message.size();) {
    const std::size_t end = std::min(message.find('\n', at), message.size());
    lines.push_back(message.substr(at, end - at));
    at = end + 1;
  }
  if (lines.size() != bad.lines.size()) return "another number of lines";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool rule = lines[i].starts_with("config: ");  // over several keys, none of them given
    if (!lines[i].starts_with(file + ": ") && !rule) return "a line without the file's name";
    for (std::size_t at = 0; at <= bad.lines[i].size();) {
      const std::size_t end = std::min(bad.lines[i].find('|', at), bad.lines[i].size());
      const std::string part = bad.lines[i].substr(at, end - at);
      const bool named = part.front() == '/' ? is_about(lines[i], part) : has_word(lines[i], part);
      if (!named) return "nothing about " + part;
      at = end + 1;
    }
  }
  return "";
}

}  // namespace alibi
