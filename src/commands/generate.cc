// alibi generate: text from a prompt.
#include <CLI/CLI.hpp>
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
#include "config/load.h"
#include "generate/generate.h"

namespace alibi {
namespace {

struct Options {
  std::string checkpoint, prompt, prompt_file;
  std::vector<std::string> overrides;
  GenerateOptions generate;
  bool ignore_end = false;
  std::vector<const CLI::Option*> drawing;  // that only matter where tokens are drawn
};

std::string read_prompt(const Options& options) {
  if (options.prompt_file.empty()) return options.prompt;
  if (options.prompt_file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  return read_file(options.prompt_file);
}

// The likeliest token is not drawn.
void refuse_without_effect(const Options& options) {
  if (options.generate.sample.temperature > 0) return;
  for (const CLI::Option* option : options.drawing) {
    if (option->count() == 0) continue;
    throw usage_error(option->get_name(), "has no effect where --temperature is 0",
                      "leave one of them out");
  }
}

int run(Options options) {
  refuse_without_effect(options);
  allow_overrides(options.overrides, {"runtime"}, "has no effect on generate");
  LoadedModel loaded = load_model(options.checkpoint, options.overrides);
  const std::string text = read_prompt(options);
  const std::size_t bad = first_invalid_utf8(text);
  if (bad != std::string::npos)
    throw usage_error(options.prompt_file.empty() ? "--prompt" : options.prompt_file,
                      cat("is not valid UTF-8 at byte ", bad));
  std::vector<std::int32_t> prompt = {
      loaded.tokenizer.end()};  // documents begin after an end token
  for (const std::int32_t id : loaded.tokenizer.encode(text)) prompt.push_back(id);
  options.generate.stop_at_end = !options.ignore_end;
  options.generate.end = loaded.tokenizer.end();
  options.generate.never = loaded.tokenizer.specials();
  StreamDecoder decoder(loaded.tokenizer, text.empty());
  std::fputs(text.c_str(), stdout);
  const double start = seconds_now();
  const auto made =
      generate(loaded.model, prompt, options.generate, loaded.device, [&](std::int32_t id) {
        const std::string piece = decoder.next(id);
        const bool written = std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size() &&
                             std::fflush(stdout) == 0;
        return written && stop_signal() == 0;
      });
  std::fputs("\n", stdout);
  const double seconds = seconds_now() - start;
  log_info(cat(prompt.size(), " + ", made.size(), " tokens (trained at ",
               batch_shape(loaded.config.batch).length, "), ",
               fixed(static_cast<double>(made.size()) / seconds, 1), " new tokens/s"));
  return stop_signal() == 0 ? 0 : 128 + stop_signal();
}

}  // namespace

void add_generate_command(CLI::App& app, Session& session) {
  CLI::App* command = add_command(
      app, "generate", "Write text after a prompt",
      "alibi generate runs/quickstart --prompt 'def main(' --tokens 300 --temperature 0.8");
  auto options = std::make_shared<Options>();
  SampleOptions& sample = options->generate.sample;
  command->add_option("CHECKPOINT", options->checkpoint, "Checkpoint or run folder")->required();
  CLI::Option* prompt = command->add_option("--prompt", options->prompt, "Text to continue");
  command
      ->add_option("--prompt-file", options->prompt_file,
                   "File with the text to continue; - for standard input")
      ->excludes(prompt);
  command->add_option("--tokens", options->generate.tokens, "New tokens, at most")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command->add_option("--temperature", sample.temperature, "0: always the likeliest token")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  CLI::Option* top_k =
      command->add_option("--top-k", sample.top_k, "Only the k likeliest tokens; 0: all")
          ->check(CLI::Range(0, 1 << 24))
          ->capture_default_str();
  CLI::Option* top_p = command
                           ->add_option("--top-p", sample.top_p,
                                        "Only the likeliest tokens of this probability together")
                           ->check(CLI::Range(0.0, 1.0))
                           ->capture_default_str();
  CLI::Option* seed =
      command->add_option("--seed", sample.seed, "Decides every draw")->capture_default_str();
  options->drawing = {top_k, top_p, seed};
  command->add_flag("--ignore-end", options->ignore_end, "Go on past the end of a document");
  add_set_option(*command, options->overrides);
  command->callback([options, &session] { session.run = [options] { return run(*options); }; });
}

}  // namespace alibi
