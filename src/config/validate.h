// Rules over several keys, and the values that follow from others.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/faults.h"

namespace alibi {

// sequence_length ends at 2^24, so a smaller scaling could not leave a token.
inline constexpr int kMostHalvings = 24;

// What is wrong with keys taken together; empty when the config can run. A rule that reads a key
// whose pointer is `faulty` (or found so on the way) is not asked: it would judge a default.
std::vector<ConfigFault> validate(const Config& config, const std::set<std::string>& faulty = {});

// The sequences of a step that the lanes do not divide, at one of the scalings that it may have.
std::optional<std::int64_t> undivided_sequences(const BatchConfig& batch);

// run.train_tokens, or what it stands for when it is not given; nothing where run.train_seconds
// leaves it open.
std::optional<std::int64_t> known_train_tokens(const RunConfig& run);

// Of a run, unless run.evaluate_every_tokens and run.save_every_tokens say otherwise.
inline constexpr std::int64_t kDefaultValidations = 10;

// A fifth of the run: what schedule.decay_tokens stands for when it is not given.
std::int64_t default_decay_tokens(std::int64_t train_tokens);

// Fills every optional that has an effect with the value it stands for. Precision stays as it is,
// and with run.train_seconds run.train_tokens and what follows from it: only a machine can resolve
// them.
void resolve(Config& config);

// Remarks about a valid config that the user should read once: trained lengths that the source
// warns about, steep slopes.
std::vector<std::string> advice(const Config& config);

}  // namespace alibi
