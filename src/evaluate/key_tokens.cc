#include "evaluate/key_tokens.h"

#include <algorithm>

#include "base/checksums.h"
#include "base/error.h"
#include "base/strings.h"
#include "base/version.h"
#include "evaluate/protocol.h"

namespace alibi {
namespace {

constexpr std::int64_t kShortShare = 16;

KeyTokenRule resolve(const KeyTokensConfig& wanted, const LoadedModel& evaluator) {
  KeyTokenRule rule{.evaluator = evaluator.folder.string(),
                    .evaluator_sha256 = sha256_file(evaluator.folder / "manifest.json"),
                    .least_gain = wanted.least_gain,
                    .most_loss = wanted.most_loss};
  rule.long_length = wanted.long_length.value_or(batch_shape(evaluator.config.batch).length);
  rule.short_length =
      wanted.short_length.value_or(std::max<std::int64_t>(2, rule.long_length / kShortShare));
  const std::string place = "/evaluate/key_tokens/long_length";
  if (rule.short_length >= rule.long_length) {
    throw usage_error(
        place,
        cat("found ", rule.long_length, ", expected more than short_length, ", rule.short_length),
        "a key token's loss falls from the one to the other");
  }
  if (const std::string past = past_position_limit(evaluator.config.model, rule.long_length);
      !past.empty())
    throw usage_error(place, cat("found ", rule.long_length, ", but the evaluator's ", past));
  return rule;
}

}  // namespace

KeyTokens find_key_tokens(LoadedModel& evaluator, const TextSample& sample,
                          const KeyTokensOptions& options) {
  KeyTokens found{.rule = resolve(options.wanted, evaluator), .is_key = {}};
  if (sample.runs.size() > 1 && found.rule.long_length > sample.rule.context) {
    throw usage_error(
        "/evaluate/key_tokens/long_length",
        cat("is not given, and the evaluator's ", found.rule.long_length, " is more than the ",
            sample.rule.context, " tokens that are read before each part of the text"),
        cat("--set evaluate.key_tokens.long_length=", found.rule.long_length));
  }
  EvaluateConfig rules;
  rules.protocol = Protocol::kSliding;  // by half of each length
  rules.batch_tokens = evaluator.config.evaluate.batch_tokens;
  const std::int64_t first = tokens_read(sample, rules, found.rule.short_length);
  const std::int64_t total = first + tokens_read(sample, rules, found.rule.long_length);
  const auto losses = [&](std::int64_t length, std::int64_t before) {
    ScoringOptions scoring = scoring_at(evaluator, rules, length);
    scoring.share = options.share;
    if (options.progress)
      scoring.progress = [&options, before, total](std::int64_t read) {
        options.progress(before + read, total);
      };
    return score_length(evaluator, sample, rules, length, scoring).losses;
  };
  const std::vector<float> shorter = losses(found.rule.short_length, 0);
  const std::vector<float> longer = losses(found.rule.long_length, first);
  for (std::size_t i = 0; i < longer.size(); ++i) {
    const double loss = longer[i], gain = shorter[i] - loss;
    found.is_key.push_back(gain > found.rule.least_gain && loss < found.rule.most_loss ? 1 : 0);
  }
  found.rule.tokens = std::ranges::count(found.is_key, 1);
  return found;
}

KeyTokenList as_list(const KeyTokens& found, const std::string& text_sha256) {
  KeyTokenList list{kVersion, text_sha256, std::ssize(found.is_key), found.rule, {}};
  for (std::int64_t i = 0; i < list.targets; ++i) {
    if (found.is_key[static_cast<std::size_t>(i)] != 0) list.positions.push_back(i);
  }
  return list;
}

KeyTokens from_list(const KeyTokenList& list, std::int64_t targets, const std::string& file) {
  if (list.targets != targets)
    throw Error(file + ": /targets",
                cat("found ", list.targets, ", expected ", targets, " of the text that is scored"),
                "name the evaluator itself");
  KeyTokens found{list.rule, std::vector<std::uint8_t>(static_cast<std::size_t>(list.targets))};
  for (const std::int64_t position : list.positions)
    found.is_key[static_cast<std::size_t>(position)] = 1;
  return found;
}

}  // namespace alibi
