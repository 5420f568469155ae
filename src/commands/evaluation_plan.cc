#include "commands/evaluation_plan.h"

#include <map>
#include <set>

#include "base/checksums.h"
#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "base/version.h"
#include "commands/ranks.h"
#include "device/device.h"
#include "evaluate/protocol.h"
#include "train/rank_check.h"

namespace alibi {
namespace {

EvaluationCase plan_case(const EvaluationRequest& request, std::size_t index) {
  EvaluationCase one{
      .name = {},
      .plan = plan_model(request.checkpoints[index], request.overrides, request.device_index),
      .lengths = {},
      .protocol = {}};
  const Config& config = one.plan.config;
  one.name = index < request.names.size() ? request.names[index] : config.run.name;
  one.lengths =
      parse_lengths(request.lengths.empty() ? config.evaluate.lengths : split(request.lengths, ','),
                    batch_shape(config.batch).length);
  check_rules(one.lengths, config);
  one.protocol = describe_protocol(config, one.plan.device);
  return one;
}

std::string answers_text(const EvaluationCase& one) {
  const AnswersConfig& a = one.plan.config.evaluate.answers;
  std::string text = cat(a.documents, " documents, ", a.ignored, " ignored, ", a.idle, " idle, ",
                         a.trials, " trials, depths");
  for (const double depth : a.depths) text += cat(" ", depth);
  return text;
}

std::string key_tokens_text(const EvaluationCase& one) {
  const KeyTokensConfig& k = one.plan.config.evaluate.key_tokens;
  return cat(k.evaluator, " ", k.short_length.value_or(0), " ", k.long_length.value_or(0), " ",
             k.least_gain, " ", k.most_loss);
}

// One table holds one protocol.
void refuse_other_protocol(const EvaluationCase& first, const EvaluationCase& other) {
  const CurveProtocol &a = first.protocol, &b = other.protocol;
  const std::vector<std::vector<std::string>> rules = {
      {"evaluate.task", name_of(first.plan.config.evaluate.task),
       name_of(other.plan.config.evaluate.task)},
      {"evaluate.protocol", protocol_name(a), protocol_name(b)},
      {"evaluate.stride", cat(a.stride), cat(b.stride)},
      {"evaluate.sinks", cat(a.sinks), cat(b.sinks)},
      {"evaluate.split_stride", cat(a.split_stride), cat(b.split_stride)},
      {"evaluate.stretch", a.treatment, b.treatment},
      {"evaluate.far_context_tokens", cat(first.plan.config.evaluate.far_context_tokens),
       cat(other.plan.config.evaluate.far_context_tokens)},
      {"evaluate.key_tokens", key_tokens_text(first), key_tokens_text(other)},
      {"evaluate.answers", answers_text(first), answers_text(other)},
      {"evaluate.max_tokens", cat(first.plan.config.evaluate.max_tokens),
       cat(other.plan.config.evaluate.max_tokens)},
      {"data.separate_documents", a.document_borders, b.document_borders},
      {"runtime.precision", a.precision, b.precision}};
  for (const auto& rule : rules) {
    if (rule[1] == rule[2]) continue;
    throw usage_error("evaluate",
                      cat(first.name, " and ", other.name, " have different protocols: ", rule[0],
                          " is \"", rule[1], "\" and \"", rule[2], "\""),
                      rule[0].starts_with("data.")
                          ? "evaluate them apart"
                          : "--set " + rule[0] + "=... for all, or evaluate them apart");
  }
}

// A token of one is another stretch of text than a token of the other: neither losses per token nor
// equal numbers of targets say anything.
void refuse_other_tokenizers(const std::vector<EvaluationCase>& cases) {
  const std::string first = checkpoint_tokenizer_hash(cases.front().plan.folder);
  for (const EvaluationCase& one : cases) {
    if (checkpoint_tokenizer_hash(one.plan.folder) == first) continue;
    throw usage_error("evaluate",
                      cat(cases.front().name, " and ", one.name,
                          " have different tokenizers: their losses per token are of other tokens"),
                      "evaluate them apart; alibi compare holds them against each other per byte");
  }
}

// Several checkpoints of one run: "NAME step-00000032"; of runs of one name: "NAME RUN".
void tell_apart(std::vector<EvaluationCase>& cases, const std::vector<std::string>& checkpoints) {
  const auto step_name = [](const EvaluationCase& one) {
    return cat(one.name, " ", one.plan.folder.filename().string());
  };
  std::map<std::string, int> named, steps;
  for (const EvaluationCase& one : cases) {
    ++named[one.name];
    ++steps[step_name(one)];
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EvaluationCase& one = cases[i];
    if (named[one.name] == 1) continue;
    const std::string step = step_name(one);
    one.name = steps[step] == 1 ? step : cat(one.name, " ", checkpoints[i]);
  }
}

}  // namespace

std::vector<EvaluationCase> plan_evaluation(const EvaluationRequest& request) {
  std::vector<EvaluationCase> cases;
  for (std::size_t i = 0; i < request.checkpoints.size(); ++i) {
    cases.push_back(plan_case(request, i));
    refuse_other_protocol(cases.front(), cases.back());
  }
  refuse_other_tokenizers(cases);
  tell_apart(cases, request.checkpoints);
  return cases;
}

void share_evaluation(std::vector<EvaluationCase>& cases, const EvaluationRequest& request,
                      World& world) {
  std::string checkpoints, rules = cat("--lengths ", request.lengths);
  for (const std::string& key : request.overrides) rules += " --set " + key;
  // One number for all: each may have been trained with its own.
  const std::int64_t threads =
      set_threads(threads_of_rank(cases.front().plan.config.runtime.threads, world));
  for (EvaluationCase& one : cases) {
    one.plan.config.runtime.threads = threads;
    // Who shares a machine may be known only now.
    one.plan.device = open_device(one.plan.config.runtime.device, world.local_rank());
    one.protocol.device = describe_device(one.plan.device);
    checkpoints += " " + sha256_file(one.plan.folder / "manifest.json");
    rules += cat(", ", one.protocol.precision);
  }
  refuse_different(world, kVersion, "program version", "start the same program everywhere");
  refuse_different(world, checkpoints, "checkpoints of SHA-256", "give all ranks the same");
  refuse_different(world, rules, "rules", "give all ranks the same command");
}

SampleRule shared_rule(const std::vector<EvaluationCase>& cases) {
  std::set<std::int64_t> lengths;
  for (const EvaluationCase& one : cases) lengths.insert(one.lengths.begin(), one.lengths.end());
  return sample_rule({lengths.begin(), lengths.end()}, cases.front().plan.config.evaluate);
}

}  // namespace alibi
