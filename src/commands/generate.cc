// alibi generate: text from a prompt.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/strings.h"
#include "checkpoint/load_model.h"
#include "commands/commands.h"
#include "commands/found.h"
#include "commands/generate_prompts.h"
#include "config/load.h"
#include "evaluate/generate/generate.h"
#include "report/table.h"

namespace alibi {
namespace {

struct Options {
  std::string checkpoint, prompt, prompt_file;
  std::vector<std::string> overrides;
  GenerateOptions generate;
  bool ignore_end = false, as_json = false;
  bool top_k_given = false, top_p_given = false, seed_given = false;
  PromptsOptions prompts;
};

std::string read_prompt(const Options& options) {
  if (options.prompt_file.empty()) return options.prompt;
  if (options.prompt_file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  return read_file(options.prompt_file);
}

// The likeliest token is not drawn.
void refuse_without_effect(const Options& options) {
  if (options.generate.sample.temperature > 0) return;
  const auto refuse = [](bool given, const char* name) {
    if (given)
      throw usage_error(name, "has no effect where --temperature is 0", "leave one of them out");
  };
  refuse(options.top_k_given, "--top-k");
  refuse(options.top_p_given, "--top-p");
  refuse(options.seed_given, "--seed");
}

int run(Options options) {
  if (options.prompts.file.empty()) refuse_without_effect(options);  // lines have their own
  if (!options.prompts.file.empty() && !options.prompt_file.empty())
    throw usage_error("--prompts", "stands beside --prompt-file", "leave one of them out");
  if (!options.prompts.file.empty() && options.as_json)
    throw usage_error("--json", "has no effect with --prompts, which writes JSON Lines",
                      "leave it out");
  allow_overrides(options.overrides, {"runtime"}, "has no effect on generate");
  LoadedModel loaded = load_model(options.checkpoint, options.overrides);
  options.generate.stop_at_end = !options.ignore_end;
  options.generate.end = loaded.tokenizer.end();
  options.generate.never = loaded.tokenizer.specials();
  if (!options.prompts.file.empty())
    return generate_prompts(loaded, options.prompts, options.generate);
  const std::string text = read_prompt(options);
  const std::size_t bad = first_invalid_utf8(text);
  if (bad != std::string::npos)
    throw usage_error(options.prompt_file.empty() ? "--prompt" : options.prompt_file,
                      cat("is not valid UTF-8 at byte ", bad));
  const std::vector<std::int32_t> prompt = prompt_tokens(loaded.tokenizer, text);
  options.generate.tokens =
      tokens_that_fit(loaded.config.model, std::ssize(prompt), options.generate.tokens,
                      options.prompt_file.empty() ? "--prompt" : options.prompt_file);
  StreamDecoder decoder(loaded.tokenizer, text.empty());
  const auto write = [&](const std::string& piece) {
    if (options.as_json) return true;  // all at the end
    return std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size() &&
           std::fflush(stdout) == 0;
  };
  write(text);
  std::string continuation;
  const double start = seconds_now();
  const auto made =
      generate(loaded.model, prompt, options.generate, loaded.device, [&](std::int32_t id) {
        const std::string piece = decoder.next(id);
        continuation += piece;
        return write(piece) && stop_signal() == 0;
      });
  write("\n");
  const double seconds = seconds_now() - start;
  const bool whole = std::ssize(made) == options.generate.tokens;
  const char* const reason = whole ? "length" : stop_signal() != 0 ? "stopped" : "stop";
  if (options.as_json) {
    print_found({"", document("generation", {{"prompt", text},
                                             {"text", continuation},
                                             {"prompt_tokens", std::ssize(prompt)},
                                             {"tokens", std::ssize(made)},
                                             {"finish_reason", reason},
                                             {"seconds", seconds}})},
                true);
  }
  log_info(cat("prompt ", with_commas(std::ssize(prompt)), " tokens, written ",
               with_commas(std::ssize(made)), " tokens (trained length ",
               with_commas(batch_shape(loaded.config.batch).length), "), ",
               fixed(static_cast<double>(made.size()) / seconds, 1), " tokens/s"));
  return stop_signal() == 0 ? 0 : 128 + stop_signal();
}

}  // namespace

Command generate_command() {
  auto options = std::make_shared<Options>();
  SampleOptions& sample = options->generate.sample;
  return {
      .name = "generate",
      .summary = "Write text after a prompt",
      .footer = example(
          "alibi generate runs/quickstart --prompt 'def main(' --tokens 300 --temperature 0.8"),
      .options = {{.name = "CHECKPOINT",
                   .meaning = "Checkpoint or run folder",
                   .target = &options->checkpoint,
                   .required = true},
                  {.name = "--prompt",
                   .meaning = "Text to continue",
                   .target = &options->prompt,
                   .may_be_empty = true},
                  {.name = "--prompt-file",
                   .meaning = "File with the text to continue; - for standard input",
                   .target = &options->prompt_file,
                   .excludes = "--prompt"},
                  {.name = "--prompts",
                   .meaning = "JSON Lines, an object with \"prompt\" a line: continue all of them",
                   .target = &options->prompts.file,
                   .excludes = "--prompt"},
                  {.name = "--parallel",
                   .meaning = "Prompts at a time",
                   .target = &options->prompts.parallel,
                   .shows_default = true,
                   .range = {{1, 1 << 16}},
                   .needs = "--prompts"},
                  {.name = "--output",
                   .meaning =
                       "File for what --prompts writes; the same command goes on after a stop",
                   .target = &options->prompts.output,
                   .needs = "--prompts"},
                  {.name = "--tokens",
                   .meaning = "Largest number of new tokens",
                   .target = &options->generate.tokens,
                   .shows_default = true,
                   .range = {{1, kMostNewTokens}}},
                  {.name = "--temperature",
                   .meaning = "0: greedy, always the most likely token",
                   .target = &sample.temperature,
                   .shows_default = true,
                   .range = {{0, kHighestTemperature}}},
                  {.name = "--top-k",
                   .meaning = "Sample from the k most likely tokens; 0: all",
                   .target = &sample.top_k,
                   .shows_default = true,
                   .range = {{0, 1 << 24}},
                   .given = &options->top_k_given},
                  {.name = "--top-p",
                   .meaning = "Sample from the most likely tokens with this total probability",
                   .target = &sample.top_p,
                   .shows_default = true,
                   .range = {{0, 1}},
                   .given = &options->top_p_given},
                  {.name = "--seed",
                   .meaning = "Seed of the sampling",
                   .target = &sample.seed,
                   .shows_default = true,
                   .given = &options->seed_given},
                  {.name = "--ignore-end",
                   .meaning = "Go on past the end of a document",
                   .target = &options->ignore_end},
                  json_option(options->as_json),
                  set_option(options->overrides)},
      .run = [options](const CommandLine&) { return run(*options); }};
}

}  // namespace alibi
