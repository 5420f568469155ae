#include "experiment/plan.h"

#include <map>
#include <set>

#include "base/checksums.h"
#include "base/error.h"
#include "base/files.h"
#include "base/printable.h"
#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "data/prepare.h"
#include "data/text_sample.h"
#include "device/device.h"
#include "evaluate/protocol.h"
#include "experiment/measured.h"
#include "model/attention.h"
#include "report/curve_files.h"
#include "train/run_folder.h"
#include "train/start_from.h"
#include "train/validator.h"

namespace alibi {
namespace {

Config variant_config(const ComparisonFile& file, const ComparisonVariant& variant,
                      const std::vector<std::string>& overrides) {
  Config config = load_config(file.base, overrides, {file.common, variant.changes});
  if (config.data.train.empty()) {
    throw usage_error(file.place + ": /data/train", "names no text",
                      "name a base that does, or set it under /config");
  }
  return config;
}

// What evaluation does to a run, and may differ between variants.
std::string treatment(const EvaluateConfig& e) {
  return cat(name_of(e.stretch), " ", shown(e.stretch_factor.value_or(0)), " ", e.sinks);
}

bool uses_cuda(const Config& config) {
  return config.runtime.device == Device::kCuda ||
         (config.runtime.device == Device::kAuto && open_device(Device::kAuto).is_cuda());
}

// The variant whose runs, each of the same seed, this config's start from: "variants/NAME".
std::optional<std::size_t> source_variant(const ExperimentPlan& plan, const Config& config) {
  for (std::size_t i = 0; i < plan.variants.size(); ++i)
    if (config.initialize.from == kFromVariant + plan.variants[i].name) return i;
  return {};
}

// The weights that training starts from, which its identity only names.
std::string start_identity(const Config& config) {
  const std::string& from = config.initialize.from;
  return from.empty() ? "" : sha256_file(resolve_checkpoint(from) / "manifest.json");
}

// What is no part of a run's identity, yet decides when its training ends or what it costs, which
// are figures too; nothing where all of it is as usual.
std::string cost_identity(const Config& config, bool any_device) {
  const Config usual;
  Config given;
  given.runtime = config.runtime;
  given.runtime.precision = usual.runtime.precision;  // the identity has it
  const bool cuda = uses_cuda(config);
  // But not what `auto` comes to, which is bf16 where nothing is said here.
  if (config.runtime.precision == Precision::kAuto && !cuda &&
      resolve_precision(Precision::kAuto, torch::kCPU) == Precision::kFp32)
    given.runtime.precision = Precision::kFp32;
  given.runtime.device = cuda && !any_device ? Device::kCuda : usual.runtime.device;
  given.run.patience = config.run.patience;
  given.run.train_seconds = config.run.train_seconds;
  if (config.run.patience > 0 || config.run.train_seconds) {  // of seconds they take a part
    given.run.evaluate_every_tokens = config.run.evaluate_every_tokens;
    given.run.validation_tokens = config.run.validation_tokens;
  }
  if (config.run.train_seconds) given.run.save_every_tokens = config.run.save_every_tokens;
  if (config.schedule.kind == ScheduleKind::kConstant) {
    given.schedule.kind = config.schedule.kind;
    given.run.train_tokens = config.run.train_tokens;
  }
  const std::string text = config_json(given);
  return text == config_json(usual) ? "" : text;
}

// What is trained: the same for configs that come to the same weights at the same cost.
std::string trained_identity(const Config& config, const std::string& data_hash, bool any_device) {
  const std::string identity = run_identity(config, data_hash);
  const std::string more = cost_identity(config, any_device) + start_identity(config);
  return more.empty() ? identity : sha256_hex(identity + more);
}

Config config_of_run(const PlannedVariant& variant, std::int64_t seed) {
  Config config = variant.config;
  config.run.seed = seed;
  config.run.name = variant.name;
  return config;
}

// A run that starts from another of the plan is another where that one is.
std::string identity_of_run(const ExperimentPlan& plan, const PlannedVariant& variant,
                            std::int64_t seed) {
  Config config = config_of_run(variant, seed);
  const auto source = source_variant(plan, config);
  if (source) config.initialize.from.clear();  // a name; the source's identity says what it is
  const std::string identity = trained_identity(config, variant.data_hash, plan.file.any_device);
  if (!source) return identity;
  return sha256_hex(identity + identity_of_run(plan, plan.variants[*source], seed));
}

void refuse_equal_variants(const ExperimentPlan& plan) {
  std::map<std::string, std::string> names;
  for (const PlannedVariant& variant : plan.variants) {
    const auto [same, is_new] =
        names.try_emplace(identity_of_run(plan, variant, plan.file.seeds.front()) +
                              treatment(variant.config.evaluate),
                          variant.name);
    if (is_new) continue;
    throw usage_error(plan.file.place + ": /variants/" + variant.name,
                      "is the same run as variant " + same->second,
                      "every variant must differ in a key that changes the result");
  }
}

// Whether a checkpoint's is the same.
bool has_tokenizer(const std::filesystem::path& checkpoint, const Tokenizer& tokenizer) {
  return checkpoint_tokenizer_hash(checkpoint) ==  // "" of bytes
         (tokenizer.is_bytes() ? "" : tokenizer.hash());
}

// What a run would only find at its start.
void check_start(const ExperimentPlan& plan, const PlannedVariant& variant) {
  const Config& config = variant.config;
  const bool from_variant = source_variant(plan, config).has_value();
  if (!from_variant && config.initialize.from.starts_with(kFromVariant) &&
      !is_there(config.initialize.from)) {
    std::vector<std::string> names;
    for (const PlannedVariant& one : plan.variants) names.push_back(kFromVariant + one.name);
    throw usage_error(cat(plan.file.place, ": /variants/", variant.name, ": /initialize/from"),
                      cat("\"", config.initialize.from, "\" is no variant, nor a folder"),
                      "expected " + join(names, ", "));
  }
  check_attention_name(config.runtime.attention.kernel);
  const std::string& evaluator = config.evaluate.key_tokens.evaluator;
  if (!evaluator.empty() && !names_key_token_list(evaluator))
    checkpoint_config(resolve_checkpoint(evaluator));
  try {
    if (!from_variant && !config.initialize.from.empty()) {
      const auto folder = resolve_checkpoint(config.initialize.from);
      const std::string place = (folder / "config.json").string();
      refuse_other_start(parse_config(checkpoint_config(folder), place), config);
    }
    if (!uses_cuda(config)) resolve_precision(config.runtime.precision, torch::kCPU);
  } catch (const Error& error) {  // its place is one in a config
    throw usage_error(plan.file.place + ": /variants/" + variant.name, error.what());
  }
}

// The same of what shows with its text.
void check_start(const ExperimentPlan& plan, const PlannedVariant& variant,
                 const PreparedText& text) {
  const Config& config = variant.config;
  const std::string place = plan.file.place + ": /variants/" + variant.name;
  const std::string& from = config.initialize.from;
  if (!from.empty() && !source_variant(plan, config) &&
      !has_tokenizer(resolve_checkpoint(from), text.tokenizer)) {
    throw usage_error(place,
                      cat("has another tokenizer than ", from, ", which initialize.from names"),
                      "set tokenizer.file to the one in its folder");
  }
  if (config.run.patience > 0 && !validation_sample(config, text).scores_anything()) {
    throw usage_error(place,
                      cat("has run.patience ", config.run.patience,
                          ", but too little text is held out to validate"),
                      "give more held-out text (data.valid, data.valid_fraction), or set "
                      "run.patience=0");
  }
}

// The same where a variant goes on from another one's runs.
void refuse_other_sources(const ExperimentPlan& plan) {
  for (const PlannedVariant& variant : plan.variants) {
    const auto index = source_variant(plan, variant.config);
    if (!index) continue;
    const PlannedVariant& source = plan.variants[*index];
    const std::string place = plan.file.place + ": /variants/" + variant.name;
    if (source_variant(plan, source.config)) {
      throw usage_error(
          place, cat("starts from ", source.name, ", which starts from a variant, too"),
          "one may start from a variant that starts from nothing, or from a checkpoint");
    }
    if (variant.tokenizer_hash != source.tokenizer_hash) {
      throw usage_error(place,
                        cat("has another tokenizer than ", source.name, ", from which it starts"),
                        "set tokenizer.file for both");
    }
    try {
      refuse_other_start(source.config, variant.config);
    } catch (const Error& error) {  // its place is one in a config
      throw usage_error(place, error.what());
    }
  }
}

// Before any training: key tokens are tokens of the evaluator's.
void refuse_other_evaluator(const ExperimentPlan& plan, const PlannedVariant& variant,
                            const Tokenizer& tokenizer) {
  const std::string& evaluator = variant.config.evaluate.key_tokens.evaluator;
  if (evaluator.empty()) return;
  if (names_key_token_list(evaluator)) {
    read_key_token_list(evaluator, variant.text.hash);
    return;
  }
  if (has_tokenizer(resolve_checkpoint(evaluator), tokenizer)) return;
  throw usage_error(
      plan.file.place + ": /variants/" + variant.name,
      cat("has another tokenizer than ", evaluator, ", which evaluate.key_tokens.evaluator names"),
      "name a run that was trained with the same one");
}

void refuse_other_tasks(const ExperimentPlan& plan) {
  for (const PlannedVariant& variant : plan.variants) {
    if (variant.config.evaluate.task == Task::kPerplexity) continue;
    throw usage_error(plan.file.place + ": /variants/" + variant.name,
                      cat("has evaluate.task \"", name_of(variant.config.evaluate.task),
                          "\", expected \"perplexity\""),
                      "name what is to be asked under \"tasks\"");
  }
}

// All variants score the same targets, so the rules of scoring must be one.
void refuse_other_rules(const ExperimentPlan& plan) {
  const EvaluateConfig& first = plan.variants.front().config.evaluate;
  for (const PlannedVariant& variant : plan.variants) {
    const EvaluateConfig& e = variant.config.evaluate;
    if (e.protocol == first.protocol && e.stride == first.stride &&
        e.split_stride == first.split_stride && e.max_tokens == first.max_tokens &&
        e.far_context_tokens == first.far_context_tokens && e.key_tokens == first.key_tokens)
      continue;
    throw usage_error(plan.file.place + ": /variants/" + variant.name,
                      "has another evaluate.protocol, stride, split_stride, max_tokens, "
                      "far_context_tokens or key_tokens than " +
                          plan.variants.front().name,
                      "set them for all, under /config");
  }
}

// Of all variants together; `rules_of` gives one's.
template <class RulesOf>
std::vector<std::int64_t> all_lengths(const ExperimentPlan& plan, const RulesOf& rules_of) {
  std::set<std::int64_t> lengths;
  for (const PlannedVariant& variant : plan.variants) {
    const auto own =
        parse_lengths(rules_of(variant.config).lengths, batch_shape(variant.config.batch).length);
    lengths.insert(own.begin(), own.end());
  }
  return {lengths.begin(), lengths.end()};
}

void refuse_own_keys(const std::vector<std::string>& overrides) {
  for (const std::string& one : overrides) {
    for (const char* own : kRunKeysOfComparison) {
      if (names_key({one}, cat("run.", own)))
        throw usage_error(cat("--set run.", own), kSetByComparison,
                          "change \"seeds\" or \"folder\" in its file");
    }
  }
}

// Judged as `alibi evaluate` will judge it beside what a run has stored.
PlannedTask plan_task(const ExperimentPlan& plan, const ComparisonTask& task) {
  const std::string place = cat(plan.file.place, ": /tasks/", task.name);
  try {
    bool reads_text = false;
    auto lengths = all_lengths(plan, [&](const Config& config) {
      const EvaluateConfig rules =
          parse_config(config_json(config), place, task.overrides).evaluate;
      reads_text = rules.task == Task::kPasskey;  // hidden in what is held out
      return rules;
    });
    return {task.name, task.overrides, std::move(lengths), reads_text};
  } catch (const Error& error) {  // its place is no command line
    throw usage_error(place, error.what());
  }
}

// Throws when the held-out text has not one window of the longest length.
TextSample held_out_sample(const ExperimentPlan& plan, const PlannedVariant& variant,
                           const PreparedText& text, const std::vector<std::int64_t>& lengths) {
  const SampleRule rule = sample_rule(lengths, variant.config.evaluate);
  const DataConfig& data = variant.config.data;
  const std::vector<std::string>& files = plan.file.text.empty() ? data.valid : plan.file.text;
  TextSample sample = files.empty() ? sample_tokens(text.valid, rule)
                                    : sample_files(files, text.tokenizer, set_threads(0), rule);
  check_sample(sample, files.empty() ? "held out by the run" : join(files, ", "));
  return sample;
}

// The tokens that are scored; tasks that read text have to find theirs, too.
ScoredText scored_text(const ExperimentPlan& plan, const PlannedVariant& variant,
                       const PreparedText& text) {
  for (const PlannedTask& task : plan.tasks)
    if (task.reads_text) held_out_sample(plan, variant, text, task.lengths);
  const TextSample sample = held_out_sample(plan, variant, text, plan.lengths);
  return {sample.hash(), sample.prompts_hash(), sample.available, sample.targets()};
}

// What is held out of which text, however it is cut into tokens.
std::string held_out(const ExperimentPlan& plan, const Config& config) {
  if (!plan.file.text.empty()) return join(plan.file.text, "\n");
  Config text;
  text.data = config.data;
  if (!text.data.valid.empty()) {
    text.data.train.clear();
    text.data.valid_fraction = Config().data.valid_fraction;
  }
  text.data.separate_documents = false;
  text.data.cache_folder.clear();
  return config_json(text);
}

// Of the held-out text, what windows of the longest length may leave out at its end where
// tokenizers differ: another part for each.
constexpr double kMostLeftOut = 0.05;

// With several tokenizers nothing but all of one text is the same text.
void refuse_other_parts(const PlannedVariant& variant, const std::string& place) {
  const std::int64_t most = variant.config.evaluate.max_tokens;
  if (variant.text.available > most) {
    throw usage_error(place,
                      cat("tokenizers differ, and evaluate.max_tokens ", most, " is less than the ",
                          variant.text.available,
                          " tokens of the held-out text: each would score other parts of it"),
                      cat("set evaluate.max_tokens to ", variant.text.available,
                          " or more under /config, or name a shorter text"));
  }
  const auto left = static_cast<double>(variant.text.available - variant.text.targets);
  if (left <= kMostLeftOut * static_cast<double>(variant.text.available)) return;
  throw usage_error(
      place,
      cat("tokenizers differ, and whole windows of the longest length leave out ",
          variant.text.available - variant.text.targets, " of ", variant.text.available,
          " tokens of the held-out text: each would leave out another part"),
      "give shorter lengths or a longer text");
}

// Losses are compared on the same text only: the same tokens, or, where tokenizers differ, all of
// what the same files hold.
void refuse_other_texts(const ExperimentPlan& plan) {
  const PlannedVariant& first = plan.variants.front();
  for (const PlannedVariant& variant : plan.variants) {
    const std::string place = plan.file.place + ": /variants/" + variant.name;
    if (plan.one_tokenizer &&
        (variant.text.hash != first.text.hash || variant.text.prompts != first.text.prompts)) {
      throw usage_error(place, "holds out another text than " + first.name,
                        "name one text for all: \"text\": [\"FILE\"]");
    }
    if (plan.one_tokenizer) continue;
    if (held_out(plan, variant.config) != held_out(plan, first.config)) {
      throw usage_error(place,
                        "holds out text of other files than " + first.name +
                            ", and another tokenizer does not show whether it is the same",
                        "name one text for all: \"text\": [\"FILE\"]");
    }
    refuse_other_parts(variant, place);
  }
}

// Equal for configs that prepare and hold out the same text.
std::string text_key(const Config& config) {
  Config text;
  text.data = config.data;
  text.tokenizer = config.tokenizer;
  return config_json(text);
}

// The end of a run's name: all that decides it.
std::string name_end(std::int64_t seed, const std::string& identity) {
  return cat("-seed", seed, "-", identity.substr(0, 8));
}

// What was trained before, by the ends of its names: a variant may be called otherwise since.
std::map<std::string, std::string> trained_before(const ExperimentPlan& plan) {
  std::map<std::string, std::string> owners;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(plan.folder / "runs", ignored)) {
    const std::string name = entry.path().filename().string();
    const std::size_t end = name.rfind("-seed");
    if (end == std::string::npos || !std::filesystem::exists(entry.path() / kUsageFile, ignored))
      continue;
    const std::string owner = name.substr(0, end);
    std::string& known = owners.try_emplace(name.substr(end), owner).first->second;
    known = std::min(known, owner);  // whatever order the folder is read in
  }
  return owners;
}

void add_runs(ExperimentPlan& plan) {
  std::map<std::string, std::string> names = trained_before(plan);
  for (const std::int64_t seed : plan.file.seeds) {
    const std::size_t first = plan.runs.size();
    for (std::size_t i = 0; i < plan.variants.size(); ++i) {
      const PlannedVariant& variant = plan.variants[i];
      PlannedRun run{i, seed, {}, {}, {}, config_of_run(variant, seed), uses_cuda(variant.config)};
      // Variants that differ in their evaluation only share one trained run, named after the first.
      const std::string end = name_end(seed, identity_of_run(plan, variant, seed));
      run.trained = names.try_emplace(end, variant.name).first->second + end;
      run.name = variant.name + end;
      run.config.run.folder = (plan.folder / "runs" / run.trained).string();
      plan.runs.push_back(std::move(run));
    }
    for (std::size_t i = 0; i < plan.variants.size(); ++i) {
      const auto source = source_variant(plan, plan.variants[i].config);
      if (!source) continue;
      const PlannedRun& from = plan.runs[first + *source];
      plan.runs[first + i].source = from.trained;
      plan.runs[first + i].config.initialize.from = from.config.run.folder;
    }
  }
}

}  // namespace

std::string lengths_text(const std::vector<std::int64_t>& lengths, std::string_view separator) {
  std::vector<std::string> texts;
  for (const std::int64_t length : lengths) texts.push_back(cat(length));
  return join(texts, separator);
}

ExperimentPlan plan_experiment(const ComparisonFile& file,
                               const std::vector<std::string>& overrides) {
  refuse_own_keys(overrides);
  ExperimentPlan plan;
  plan.file = file;
  plan.folder = file.folder;
  for (const ComparisonVariant& variant : file.variants) {
    plan.variants.push_back(
        {variant.name, variant.changes.text, variant_config(file, variant, overrides), {}, {}, {}});
  }
  refuse_other_tasks(plan);
  refuse_other_rules(plan);
  plan.lengths = all_lengths(plan, [](const Config& config) { return config.evaluate; });
  for (const ComparisonTask& task : file.tasks) plan.tasks.push_back(plan_task(plan, task));
  std::map<std::string, PreparedText> texts;  // variants mostly share one
  std::map<std::string, ScoredText> scored;
  std::set<std::string> tokenizers;
  for (PlannedVariant& variant : plan.variants) {
    const Config& c = variant.config;
    check_rules(plan.lengths, c);
    check_start(plan, variant);
    auto text = texts.find(text_key(c));
    if (text == texts.end()) {
      const int threads = set_threads(c.runtime.threads);
      text = texts.emplace(text_key(c), prepare_text(c.data, c.tokenizer, threads)).first;
      scored[text->first] = scored_text(plan, variant, text->second);
    }
    variant.text = scored.at(text->first);
    variant.data_hash = text->second.data_hash;
    variant.tokenizer_hash = text->second.tokenizer.hash();
    tokenizers.insert(variant.tokenizer_hash);
    check_start(plan, variant, text->second);
    refuse_other_evaluator(plan, variant, text->second.tokenizer);
  }
  refuse_other_sources(plan);
  refuse_equal_variants(plan);
  plan.one_tokenizer = tokenizers.size() == 1;
  refuse_other_texts(plan);
  add_runs(plan);
  return plan;
}

}  // namespace alibi
