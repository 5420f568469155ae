// config.json of transformers' MPT, BLOOM and GPT-2, and of our own export, in our terms.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "convert/names.h"

namespace alibi {

struct ForeignConfig {
  Dialect dialect = Dialect::kMpt;
  ModelConfig model;  // resolved
  std::int64_t vocabulary = 0;
  std::int64_t longest = 0;         // what it says to be used with, in tokens; 0: it does not say
  std::int64_t trained = 0;         // trained_length, which exports of this program have; or 0
  std::optional<std::int64_t> end;  // eos_token_id
  std::vector<std::string> notes;   // what is not taken over, or not as transformers reads it
};

// Throws Error naming the key for a model_type or a feature we have no counterpart for, also where
// transformers ignores the key: such weights were trained with it.
ForeignConfig read_foreign_config(const std::filesystem::path& config_json);

}  // namespace alibi
