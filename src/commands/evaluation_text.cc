#include "commands/evaluation_text.h"

#include <filesystem>
#include <optional>

#include "base/checksums.h"
#include "base/error.h"
#include "base/strings.h"
#include "commands/measuring_line.h"
#include "commands/ranks.h"
#include "data/named_text.h"
#include "data/prepare.h"
#include "device/device.h"
#include "evaluate/protocol.h"
#include "train/rank_check.h"

namespace alibi {
namespace {

EvaluationText from_files(const std::vector<std::string>& files, const LoadedModel& loaded,
                          const SampleRule& rule, const std::string& way_out) {
  EvaluationText text{files, sample_files(files, loaded.tokenizer, set_threads(0), rule)};
  check_sample(text.sample, join(files, ", "), way_out);
  return text;
}

// Of the scored tokens, and of what is read before them.
std::string identity_of(const TextSample& sample) {
  return sha256_hex(sample.hash() + sample.prompts_hash());
}

// A run's config names them as the folder that it was started in does.
void look_for(const std::vector<std::string>& files, const char* key) {
  const auto missing = find_missing(files);
  if (!missing) return;
  std::error_code ignored;
  throw usage_error(
      key,
      cat("the run's text ", missing->name, ", seen from ",
          std::filesystem::current_path(ignored).string(), ": ", missing->reason),
      cat("start where the run was trained, or name text by --text FILE; ", missing->way_out));
}

}  // namespace

EvaluationText read_evaluation_text(const std::vector<std::string>& files,
                                    const LoadedModel& loaded, const SampleRule& rule,
                                    const std::string& way_out) {
  const DataConfig& data = loaded.config.data;
  if (!files.empty()) return from_files(files, loaded, rule, way_out);
  look_for(data.valid, "/data/valid");
  if (!data.valid.empty()) return from_files(data.valid, loaded, rule, way_out);
  if (data.train.empty())
    throw usage_error("--text", "names no text, and the run's config has none", "--text FILE");
  look_for(data.train, "/data/train");
  const PreparedText prepared = prepare_text(data, loaded.config.tokenizer, set_threads(0));
  // What another text holds out may be what the run was trained on.
  if (prepared.tokenizer.hash() != loaded.tokenizer.hash() ||
      (!loaded.data_hash.empty() && prepared.data_hash != loaded.data_hash)) {
    throw Error(join(data.train, ", "), "is not the text that the run was trained on",
                "put the old one back, or name text that it was not trained on by --text FILE");
  }
  EvaluationText text{{"held out by the run"}, sample_tokens(prepared.valid, rule)};
  check_sample(text.sample, text.files.front(), way_out);
  return text;
}

LoadedModel load_for_evaluation(const EvaluationCase& one, World& world,
                                const std::vector<std::string>& files, const SampleRule& rule,
                                EvaluationText* text) {
  std::optional<LoadedModel> loaded;
  world.while_others_wait([&] {
    loaded = load_model(one.plan);
    if (text != nullptr) *text = read_evaluation_text(files, *loaded, rule);
  });
  if (text != nullptr)
    refuse_different(world, identity_of(text->sample), "text of SHA-256",
                     "give all ranks the same");
  return *std::move(loaded);
}

KeyTokens load_key_tokens(const EvaluationCase& one, World& world, const LoadedModel& loaded,
                          const TextSample& sample) {
  const Config& config = one.plan.config;
  const KeyTokensConfig& wanted = config.evaluate.key_tokens;
  if (wanted.evaluator.empty()) return {};
  if (names_key_token_list(wanted.evaluator))
    return from_list(read_key_token_list(wanted.evaluator, sample.hash()),
                     std::ssize(sample.scored()), wanted.evaluator);
  std::optional<LoadedModel> evaluator;
  world.while_others_wait([&] {
    ModelPlan plan =
        plan_model(wanted.evaluator, {cat("runtime.device=", name_of(config.runtime.device))},
                   one.plan.device.is_cuda() ? one.plan.device.index() : 0);
    plan.config.runtime.threads = config.runtime.threads;
    plan.config.evaluate.batch_tokens = config.evaluate.batch_tokens;
    evaluator = load_model(plan);
  });
  if (evaluator->tokenizer.hash() != loaded.tokenizer.hash()) {
    throw usage_error("/evaluate/key_tokens/evaluator",
                      cat(wanted.evaluator, " has another tokenizer than ", one.name),
                      "name a run that was trained with the same one");
  }
  MeasuringLine line("evaluate", "key tokens", "tokens", world.is_first());
  KeyTokens found = find_key_tokens(
      *evaluator, sample, {.wanted = wanted, .progress = line.hook(), .share = share_of(world)});
  line.finish();
  refuse_different(world, found.rule.evaluator_sha256, "evaluator of SHA-256",
                   "give all ranks the same");
  return found;
}

CurveText describe_text(const EvaluationText& text, const Tokenizer& tokenizer) {
  const std::vector<std::int32_t> scored = text.sample.scored();
  const TextSize size = text_size(tokenizer, scored);
  const std::int64_t targets = std::ssize(scored);
  return {text.files, text.sample.describe(),          text.sample.hash(),
          targets,    text.sample.available - targets, size.bytes,
          size.words};
}

void refuse_other_text(const std::string& run, const TextSample& sample, std::string& first) {
  const std::string own = identity_of(sample);
  if (first.empty()) first = own;
  if (own == first) return;
  throw usage_error("evaluate", run + " holds out another text than the first checkpoint",
                    "name one text for all: --text FILE");
}

}  // namespace alibi
