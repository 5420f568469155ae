#include "commands/commands.h"

#include <torch/version.h>

#include "base/strings.h"
#include "base/version.h"
#include "device/memory.h"

namespace alibi {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 done; 1 failure; 2 wrong command line or config; 128 + signal where one stopped "
    "it\n"
    "(TERM 143, INT 130, USR1 138, HUP 129): train saves what it has first, a second signal leaves "
    "at "
    "once;\n"
    "134 an internal error, with its place in the source.\n"
    "Every setting is a config key: alibi inspect schema --markdown lists them.";

}  // namespace

Command program() {
  return {.name = "alibi",
          .summary =
              "Trains language models on short sequences and measures them on long ones (ALiBi).",
          .footer = kFooter,
          .commands = {prepare_command(), train_command(), evaluate_command(), compare_command(),
                       generate_command(), export_command(), import_command(), inspect_command(),
                       bench_command(), completion_command()},
          .version = cat("alibi ", kVersion, " (LibTorch ", TORCH_VERSION, ")")};
}

std::string foreign_error(const std::exception& error) {
  if (is_out_of_memory(error))
    return "out of memory (a smaller model or batch.micro_batch_tokens; for prepare, shorter "
           "documents or a smaller tokenizer.sample_bytes)";
  if (is_device_failure(error))
    return cat(
        "CUDA device: ", first_line(error.what()),
        " (this process can do nothing more on it; nvidia-smi and the system's log say why, and a "
        "run goes on from its last checkpoint with alibi train --resume)");
  return first_line(error.what());
}

}  // namespace alibi
