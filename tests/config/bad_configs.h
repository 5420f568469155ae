// Configs that must be refused. Each expected line lists, parted by '|', what one line of the
// message must hold: the JSON pointer, what was found, what was expected.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace alibi {

struct BadConfig {
  std::string text;
  std::vector<std::string> lines;
};

inline std::vector<BadConfig> not_json() {
  return {
      {"", {"is not JSON"}},
      {"   \n", {"is not JSON"}},
      {"{", {"is not JSON"}},
      {"{} {}", {"is not JSON"}},
      {"{} x", {"is not JSON"}},
      {"{\"model\": {\"heads\": 8,}}", {"is not JSON"}},
      {"{'model': {}}", {"is not JSON"}},
      {"{\"model\": {\"heads\": 08}}", {"is not JSON"}},
      {"{\"model\": {\"rotary_base\": NaN}}", {"is not JSON"}},
      {"{\"optimizer\": {\"epsilon\": 1e999}}", {"is not JSON|1e999"}},
      {"{\"run\": {\"name\": \"\xff\"}}", {"is not JSON"}},
      {"[]", {"found a list, expected an object"}},
      {"3", {"found 3, expected an object"}},
      {"\"x\"", {"found \"x\", expected an object"}},
      {"null", {"found null, expected an object"}},
      {"{\"run\": {}, \"run\": {}}", {"/run|stands twice"}},
      {"{\"model\": {\"heads\": 8, \"heads\": 8}}", {"/model/heads|stands twice"}},
      {"{\"data\": {\"train\": [{\"a\": 1, \"a\": 2}]}}", {"/data/train/0/a|stands twice"}},
      {"{\"x/y\": 1, \"x/y\": 1}", {"/x~1y|stands twice"}},
      {"{\"a\": 1, \"a\": 2, \"b\": {\"c\": 1, \"c\": 1}}", {"/a|twice", "/b/c|twice"}},
  };
}

inline std::vector<BadConfig> wrong_types() {
  const std::string whole = "|expected a whole number from 1 to 1024";
  return {
      {"{\"model\": {\"heads\": 4.7}}", {"/model/heads|found 4.7" + whole}},
      {"{\"model\": {\"heads\": true}}", {"/model/heads|found true" + whole}},
      {"{\"model\": {\"heads\": 1e3}}", {"/model/heads|found 1000.0" + whole}},
      {"{\"model\": {\"heads\": 4.0}}", {"/model/heads|found 4.0" + whole}},
      {"{\"model\": {\"heads\": 3000000000000000000000}}", {"/model/heads|found 3e+21" + whole}},
      {"{\"model\": {\"heads\": 18446744073709551615}}", {"/model/heads|1844674407370955" + whole}},
      {"{\"model\": {\"heads\": -1}}", {"/model/heads|found -1" + whole}},
      {"{\"model\": {\"heads\": 0}}", {"/model/heads|found 0" + whole}},
      {"{\"model\": {\"heads\": 1025}}", {"/model/heads|found 1025" + whole}},
      {"{\"model\": {\"heads\": \"7\"}}", {"/model/heads|found \"7\"" + whole}},
      {"{\"model\": {\"heads\": null}}", {"/model/heads|found null" + whole}},
      {"{\"model\": {\"heads\": []}}", {"/model/heads|found a list" + whole}},
      {"{\"model\": {\"heads\": {}}}", {"/model/heads|found an object" + whole}},
      {"{\"optimizer\": {\"beta1\": \"0.9\"}}", {"/optimizer/beta1|found \"0.9\"|a number"}},
      {"{\"optimizer\": {\"beta1\": true}}", {"/optimizer/beta1|found true|a number"}},
      {"{\"optimizer\": {\"beta1\": 1}}", {"/optimizer/beta1|found 1|0 to 0.99999"}},
      {"{\"optimizer\": {\"beta1\": null}}", {"/optimizer/beta1|found null"}},
      {"{\"model\": {\"tied_head\": 1}}", {"/model/tied_head|found 1|true or false"}},
      {"{\"model\": {\"tied_head\": \"true\"}}", {"/model/tied_head|true or false"}},
      {"{\"model\": {\"tied_head\": null}}", {"/model/tied_head|found null|true or false"}},
      {"{\"run\": {\"name\": 5}}", {"/run/name|found 5|a string"}},
      {"{\"run\": {\"folder\": null}}", {"/run/folder|found null|a string"}},
      {"{\"data\": {\"train\": \"a.txt\"}}", {"/data/train|found \"a.txt\"|a list of strings"}},
      {"{\"data\": {\"train\": [\"a\", 1]}}", {"/data/train/1|found 1, expected a string"}},
      {"{\"model\": {\"slopes\": 0.5}}", {"/model/slopes|found 0.5|a list of numbers"}},
      {"{\"model\": {\"slopes\": [0.5, true]}}", {"/model/slopes/1|found true|a number"}},
      {"{\"model\": {\"position\": \"alibbi\"}}",
       {"/model/position|found \"alibbi\"|one of \"alibi\"|did you mean \"alibi\"?"}},
      {"{\"model\": {\"position\": 3}}", {"/model/position|found 3|one of"}},
      {"{\"model\": 5}", {"/model|found 5, expected an object"}},
      {"{\"model\": null}", {"/model|found null, expected an object"}},
      {"{\"runtime\": {\"attention\": 3}}", {"/runtime/attention|found 3, expected an object"}},
  };
}

inline std::vector<BadConfig> unknown_keys() {
  return {
      {"{\"modle\": {}}", {"/modle|unknown key|did you mean model?"}},
      {"{\"model\": {\"head\": 8}}", {"/model/head|unknown key|did you mean heads?"}},
      {"{\"model\": {\"sequence_length\": 8}}",
       {"/model/sequence_length|unknown key|did you mean batch.sequence_length?"}},
      {"{\"heads\": 8}", {"/heads|unknown key|did you mean model.heads?"}},
      {"{\"kernel\": \"auto\"}", {"/kernel|did you mean runtime.attention.kernel?"}},
      {"{\"attention\": {}}", {"/attention|did you mean runtime.attention?"}},
      {"{\"runtime\": {\"atention\": {}}}", {"/runtime/atention|did you mean attention?"}},
      {"{\"model.heads\": 8}", {"/model.heads|unknown key|dots belong to --set"}},
      {"{\"runtime.attention\": {}}", {"/runtime.attention|unknown key|dots belong to --set"}},
      {"{\"zzzzzzzzzzzz\": 1}", {"/zzzzzzzzzzzz|unknown key|alibi inspect schema"}},
      {"{\"model\": {\"$schema\": \"x\"}}", {"/model/$schema|unknown key"}},
      {"{\"\": 1}", {"unknown key"}},
  };
}

inline std::vector<BadConfig> broken_rules() {
  return {
      {"{\"model\": {\"heads\": 7}}", {"/model/heads|7 does not divide width 256"}},
      {"{\"model\": {\"width\": 12, \"heads\": 4, \"position\": \"rotary\"}}",
       {"/model/position|head width 3 is odd"}},
      {"{\"model\": {\"width\": 9, \"heads\": 3, \"position\": \"sinusoidal\"}}",
       {"/model/position|width 9 is odd"}},
      {"{\"model\": {\"key_value_heads\": 3}}", {"/model/key_value_heads|3 does not divide heads"}},
      {"{\"model\": {\"causal\": false}}",
       {"/model/causal|found false, expected true|would reward future keys"}},
      {"{\"model\": {\"heads\": 2, \"slopes\": [0.5]}}", {"/model/slopes|found 1 slopes|2 heads"}},
      {"{\"model\": {\"heads\": 2, \"slopes\": [0.5, 0]}}",
       {"/model/slopes/1|found 0|above 0|near keys"}},
      {"{\"model\": {\"heads\": 1, \"slopes\": [-0.5]}}", {"/model/slopes/0|found -0.5|above 0"}},
      {"{\"model\": {\"position\": \"t5\", \"t5_max_distance\": 16}}",
       {"/model/t5_max_distance|found 16, expected more than t5_buckets / 2 = 16"}},
      {"{\"batch\": {\"train_sequence_length_scaling\": 2}}",
       {"/batch/train_sequence_length_scaling|found 2|batch.sequence_length"}},
      {"{\"batch\": {\"train_sequence_length_scaling\": 0.3}}",
       {"/batch/train_sequence_length_scaling|found 0.3|1/4"}},
      {"{\"batch\": {\"train_sequence_length_scaling\": 0}}",
       {"/batch/train_sequence_length_scaling|found 0"}},
      {"{\"batch\": {\"train_sequence_length_scaling\": -0.5}}",
       {"/batch/train_sequence_length_scaling|found -0.5"}},
      {"{\"batch\": {\"sequence_length\": 100, \"train_sequence_length_scaling\": 0.125}}",
       {"/batch/train_sequence_length_scaling|100 * 0.125 is not a whole|multiple of 8"}},
      {"{\"batch\": {\"sequence_length\": 64, \"sequences\": 4, \"micro_batch_tokens\": 100}}",
       {"/batch/micro_batch_tokens|found 100|trained length 64|256 tokens"}},
      {"{\"batch\": {\"sequence_length\": 64, \"sequences\": 4, \"micro_batch_tokens\": 192}}",
       {"/batch/micro_batch_tokens|found 192"}},
      {"{\"batch\": {\"sequence_length\": 64, \"sequences\": 4, \"micro_batch_tokens\": 512}}",
       {"/batch/micro_batch_tokens|found 512"}},
      {"{\"model\": {\"position\": \"learned\", \"max_sequence_length\": 256}}",
       {"/model/max_sequence_length|found 256, expected at least the trained length 512"}},
      {"{\"schedule\": {\"warmup_tokens\": 11}, \"run\": {\"train_tokens\": 10}}",
       {"/schedule/warmup_tokens|found 11|at most run.train_tokens 10"}},
      {"{\"schedule\": {\"kind\": \"wsd\", \"warmup_tokens\": 5, \"decay_tokens\": 6}, "
       "\"run\": {\"train_tokens\": 10}}",
       {"/schedule/decay_tokens|warm-up and decay take 11|10"}},
      {"{\"schedule\": {\"kind\": \"wsd\", \"warmup_tokens\": 9}, \"run\": {\"train_tokens\": 10}}",
       {"/schedule/decay_tokens|warm-up and decay take 11|10"}},
      {"{\"evaluate\": {\"lengths\": []}}", {"/evaluate/lengths|empty list"}},
      {"{\"evaluate\": {\"lengths\": [\"1x\", \"x\"]}}", {"/evaluate/lengths/1|found \"x\""}},
      {"{\"evaluate\": {\"lengths\": [\"0x\", \"1.5\"]}}",
       {"/evaluate/lengths/0|found \"0x\"", "/evaluate/lengths/1|found \"1.5\""}},
      {"{\"model\": {\"heads\": 4, \"biased_heads\": 5}}",
       {"/model/biased_heads|found 5, expected at most heads 4"}},
      {"{\"batch\": {\"length_mixture\": [1, 0.3]}}", {"/batch/length_mixture/1|found 0.3"}},
      {"{\"batch\": {\"length_mixture\": [0.25, 0.5]}}",
       {"/batch/length_mixture|its largest is 0.5|train_sequence_length_scaling 1|longest "
        "trained"}},
      {"{\"batch\": {\"train_sequence_length_scaling\": 0.5, \"length_mixture\": [1]}}",
       {"/batch/length_mixture/0|found 1, expected"}},
      {"{\"evaluate\": {\"protocol\": \"one_pass\", \"stretch\": \"linear\"}}",
       {"/evaluate/stretch|one stretch for all lengths|stretch_factor"}},
      {"{\"evaluate\": {\"protocol\": \"streaming\"}, \"data\": {\"separate_documents\": true}}",
       {"/evaluate/protocol|crosses the borders"}},
      {"{\"model\": {\"position\": \"rotary\"}, "
       "\"evaluate\": {\"protocol\": \"streaming\", \"sinks\": 4}}",
       {"/evaluate/sinks|where tokens stood|alibi, t5 and none"}},
      {"{\"evaluate\": {\"task\": \"passkey\", \"passkey\": {\"depths\": [0, 1.5]}}}",
       {"/evaluate/passkey/depths/1|found 1.5"}},
      {"{\"evaluate\": {\"task\": \"passkey\", \"passkey\": {\"depths\": []}}}",
       {"/evaluate/passkey/depths|empty list"}},
      {"{\"run\": {\"name\": \"\"}}", {"/run/name|found \"\"|plain name"}},
      {"{\"run\": {\"name\": \"a/b\"}}", {"/run/name|found \"a/b\""}},
      {"{\"data\": {\"train\": [\"\"]}}", {"/data/train/0|empty name"}},
  };
}

inline std::vector<BadConfig> without_effect() {
  const std::string no = "|has no effect here: it counts only where |remove the key";
  return {
      {"{\"model\": {\"max_sequence_length\": 512}}", {"/model/max_sequence_length|learned" + no}},
      {"{\"model\": {\"position\": \"rotary\", \"t5_buckets\": 32}}", {"/model/t5_buckets" + no}},
      {"{\"model\": {\"t5_shared\": true}}", {"/model/t5_shared" + no}},
      {"{\"model\": {\"rotary_base\": 10000}}", {"/model/rotary_base" + no}},
      {"{\"model\": {\"position\": \"none\", \"slopes\": [0.5]}}", {"/model/slopes" + no}},
      {"{\"model\": {\"heads\": 1, \"slopes\": [0.5], \"slope_rule\": \"press\"}}",
       {"/model/slope_rule" + no}},
      {"{\"model\": {\"position\": \"t5\", \"learned_slopes\": true}}",
       {"/model/learned_slopes" + no}},
      {"{\"schedule\": {\"decay_tokens\": 10}}", {"/schedule/decay_tokens|wsd" + no}},
      {"{\"schedule\": {\"kind\": \"constant\", \"final_fraction\": 0.1}}",
       {"/schedule/final_fraction" + no}},
      {"{\"tokenizer\": {\"kind\": \"bytes\", \"vocabulary\": 300}}",
       {"/tokenizer/vocabulary" + no}},
      {"{\"tokenizer\": {\"kind\": \"bytes\", \"file\": \"x\"}}", {"/tokenizer/file" + no}},
      {"{\"tokenizer\": {\"file\": \"x\", \"sample_bytes\": 5000}}",
       {"/tokenizer/sample_bytes" + no}},
      {"{\"data\": {\"valid\": [\"a\"], \"valid_fraction\": 0.1}}", {"/data/valid_fraction" + no}},
      {"{\"initialize\": {\"from\": \"x\", \"standard_deviation\": 0.1}}",
       {"/initialize/standard_deviation" + no}},
      {"{\"evaluate\": {\"stride\": 8}}", {"/evaluate/stride|sliding" + no}},
      {"{\"evaluate\": {\"sinks\": 4}}", {"/evaluate/sinks|streaming" + no}},
      {"{\"evaluate\": {\"protocol\": \"sliding\", \"split_stride\": 8}}",
       {"/evaluate/split_stride|non_overlapping" + no}},
      {"{\"evaluate\": {\"passkey\": {\"trials\": 2}}}", {"/evaluate/passkey/trials|passkey" + no}},
      {"{\"model\": {\"slope_seed\": 1}}", {"/model/slope_seed|exponential" + no}},
      {"{\"guard\": {\"spike_window\": 64}}", {"/guard/spike_window|guard.spikes" + no}},
      {"{\"guard\": {\"spike_deviations\": 4}}", {"/guard/spike_deviations|guard.spikes" + no}},
      {"{\"guard\": {\"most_rollbacks\": 4, \"non_finite\": \"skip\"}}",
       {"/guard/most_rollbacks|roll_back" + no}},
      {"{\"model\": {\"heads\": 1.5, \"hats\": 1}, \"run\": {\"seed\": -1}, \"x\": 1}",
       {"/model/heads|1.5", "/model/hats|heads", "/run/seed|-1", "/x|unknown key"}},
  };
}

// One start shows them all: types, ranges, effects, unknown keys and rules. A rule or condition
// that reads a faulty key is not asked.
inline std::vector<BadConfig> mixed() {
  return {
      {"{\"model\": {\"heads\": 7, \"layrs\": 2}}",
       {"/model/layrs", "/model/heads|7 does not divide"}},
      {"{\"x\": 1, \"model\": {\"t5_shared\": true}, \"run\": {\"name\": \"\"}}",
       {"/x|unknown key", "/model/t5_shared|no effect", "/run/name|plain name"}},
      {"{\"schedule\": {\"decay_tokens\": 10, \"warmup_tokens\": 11}, "
       "\"run\": {\"train_tokens\": 10, \"seed\": -1}}",
       {"/run/seed|-1", "/schedule/decay_tokens|no effect", "/schedule/warmup_tokens|found 11"}},
      {"{\"batch\": {\"train_sequence_length_scaling\": 0.3, \"micro_batch_tokens\": 7}, "
       "\"model\": {\"key_value_heads\": 3}}",
       {"/model/key_value_heads", "/batch/train_sequence_length_scaling|0.3"}},
      {"{\"model\": {\"heads\": 0, \"width\": 9, \"position\": \"sinusoidal\"}}",
       {"/model/heads|found 0", "/model/position|width 9 is odd"}},
      {"{\"model\": {\"position\": \"rotray\", \"rotary_base\": 100}}", {"/model/position|rotray"}},
      {"{\"model\": 5, \"batch\": {\"sequence_length\": 0, \"sequences\": 0}}",
       {"/model|found 5", "/batch/sequence_length|found 0", "/batch/sequences|found 0"}},
      {"{\"batch\": {\"sequence_length\": 16}, \"evaluate\": {\"lengths\": [\"1.3x\", \"1.5x\"]}}",
       {"/evaluate/lengths/0|found \"1.3x\"|1x is the trained length 16"}},
      {"{\"batch\": {\"train_sequence_length_scaling\": 1e-300}}",
       {"/batch/train_sequence_length_scaling|found 1e-300"}},
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
      if (lines[i].find(part) == std::string::npos) return "nothing about " + part;
      at = end + 1;
    }
  }
  return "";
}

}  // namespace alibi
