// alibi generate --prompts: a file of prompts, several at a time.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/load_model.h"
#include "evaluate/generate/generate.h"

namespace alibi {

struct PromptsOptions {
  // JSON, one object a line: "prompt", and as one wishes "id", "tokens", "temperature", "seed";
  // other keys are ignored.
  std::string file;
  // One object a line, in the same order: "line", "job", "digest", "id", "prompt", "text",
  // "tokens", "finish_reason" ("stop": the document ended, or "length"); of a bad row "error"
  // behind "digest". "job" changes with the checkpoint, the options, precision and kernel, "digest"
  // with what the row asks for, or with a bad row's line. Empty: standard output. What a file holds
  // already is not made again, but for bad rows that have changed.
  std::string output;
  std::int64_t parallel = 8;
};

// Returns an exit code: 1 where a row was bad, 128 + the signal that stopped it.
int generate_prompts(LoadedModel& loaded, const PromptsOptions& prompts,
                     const GenerateOptions& options);

// How many of the tokens asked for the model has positions for, behind a prompt of so many: the
// last one is chosen, not read. Throws Error naming `place` where the prompt is longer than they
// are.
std::int64_t tokens_that_fit(const ModelConfig& model, std::int64_t prompt, std::int64_t tokens,
                             const std::string& place);

// The prompt's tokens: documents begin after an end token.
std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, const std::string& text);

}  // namespace alibi
