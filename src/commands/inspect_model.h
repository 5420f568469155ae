// The tables of `inspect model` and `inspect checkpoint`.
#pragma once

#include <cstdint>
#include <filesystem>

#include "commands/found.h"
#include "config/config.h"

namespace alibi {

// Every parameter with shape and bytes, totals, what the cache grows by per token. From a config
// alone; the vocabulary is tokenizer.vocabulary.
Found describe_model(const Config& config);

// Step, losses, files and tensors of a checkpoint, and whether its checksums hold. Throws Error
// when damaged.
Found describe_checkpoint(const std::filesystem::path& given);

}  // namespace alibi
