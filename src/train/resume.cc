#include "train/resume.h"

#include <ATen/Parallel.h>

#include <set>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/strings.h"
#include "checkpoint/folders.h"
#include "config/load.h"
#include "config/validate.h"
#include "device/device.h"
#include "train/due.h"
#include "train/lane_sum.h"
#include "train/run_folder.h"

namespace alibi {
namespace {

constexpr const char* kOtherBits =
    "the last bits of its weights will not be those of an uninterrupted run";

std::string describe_step_arithmetic(const Config& config, torch::Device device, Gpt& model) {
  const BatchShape shape = batch_shape(config.batch);
  return cat(
      describe_arithmetic(device), ", attention ",
      model->attention_kernel({shape.rows, shape.length, true, config.data.separate_documents},
                              device),
      ", skip ", name_of(config.runtime.attention.skip),
      config.runtime.linear_layers == LinearLayers::kLibtorch ? ", linear layers by LibTorch" : "");
}

}  // namespace

void resolve_machine(Config& config, bool resume, const WorldPlace& place) {
  const torch::Device device = open_device(config.runtime.device, place.local_rank);
  const auto before = resume ? stored_config(config.run.folder) : std::nullopt;
  if (before && config.runtime.precision == Precision::kAuto)
    config.runtime.precision = before->runtime.precision;
  if (before && config.runtime.linear_layers == LinearLayers::kAuto)
    config.runtime.linear_layers = before->runtime.linear_layers;
  config.runtime.precision = resolve_precision(config.runtime.precision, device);
  // With run.train_seconds they are measured, once; again where that start has saved nothing.
  if (before && !config.run.train_tokens && before->run.train_tokens &&
      !step_folders(std::filesystem::path(config.run.folder) / "checkpoints").empty()) {
    if (!config.run.evaluate_every_tokens)
      config.run.evaluate_every_tokens = before->run.evaluate_every_tokens;
    config = with_train_tokens(config, *before->run.train_tokens);
  }
  if (!config.batch.lanes) {
    if (before) config.batch.lanes = before->batch.lanes;
    if (!before && place.size > 1) config.batch.lanes = place.size;
  }
  if (const auto sequences = undivided_sequences(config.batch)) {
    throw usage_error("/batch/lanes",
                      cat(lanes_of(config.batch), " processes, expected a divisor of the ",
                          *sequences, " sequences that a step trains on"),
                      "start as many, or set batch.sequences");
  }
  own_lanes(lanes_of(config.batch), place.rank, place.size);
}

void resume_threads(const Config& config, const Checkpoint& resume, const World& world) {
  // With bf16 the bits do not depend on it, but for MUD's, which are of fp32; and other ranks need
  // cores, too.
  const bool in_fp32 = config.optimizer.kind == OptimizerAlgorithm::kMud;
  if (!world.is_alone() && config.runtime.precision == Precision::kBf16 && !in_fp32) return;
  const std::int64_t before = resume.progress.threads;
  const std::int64_t now = config.runtime.threads > 0 ? config.runtime.threads : before;
  if (before == 0) return;
  const int here = set_threads(0);
  set_threads(now);
  if (now != before) {
    log_warning(cat("this run was started with ", before, " threads and goes on with ", now, ": ",
                    kOtherBits));
  } else if (now != here) {
    log_info(cat("note: ", now, " threads, as the run was started with; --set runtime.threads=",
                 here, " changes that, and the last bits of its weights"));
  }
}

std::vector<std::string> take_changes(const Config& config, const Checkpoint& resume, bool finished,
                                      Progress& progress) {
  const Config before = parse_config(resume.config_json, "config.json of the checkpoint");
  std::set<std::string> given;
  for (const ConfigDifference& key : config_differences(before, config)) given.insert(key.pointer);
  std::vector<std::string> changes;
  for (const ConfigDifference& key : identity_differences(before, config)) {
    if (!given.contains(key.pointer)) continue;  // it came to count, by another key
    if (finished) {
      throw usage_error(key.pointer,
                        cat("this run is finished, with ", key.first, "; now it is ", key.second),
                        "resume with the old value, or choose another run.name");
    }
    changes.push_back(cat(key.pointer, ": ", key.second, ", was ", key.first));
    if (key.pointer == "/batch/micro_batch_tokens") progress.micro_batch_tokens = 0;
  }
  const std::int64_t validated = before.run.validation_tokens, now = config.run.validation_tokens;
  if (validated != now && !finished) {  // no loss of other text is its best
    progress.best_validation_loss = Progress().best_validation_loss;
    progress.evaluations_without_improvement = 0;
    changes.push_back(cat("/run/validation_tokens: ", now, ", was ", validated,
                          "; the lowest loss is looked for anew"));
  }
  return changes;
}

bool deadline_holds(const Config& config, const Checkpoint& resume) {
  const Progress& then = resume.progress;
  if (!then.finished || !config.run.train_seconds) return false;
  const Config before = parse_config(resume.config_json, "config.json of the checkpoint");
  return before.run.train_seconds && *config.run.train_seconds <= *before.run.train_seconds &&
         then.step < total_steps(before) && !is_out_of_patience(before, then);
}

std::optional<std::string> note_arithmetic(const Config& config, torch::Device device,
                                           TrainState& state) {
  Progress& progress = state.progress;
  progress.threads = at::get_num_threads();
  const std::string before =
      std::exchange(progress.arithmetic, describe_step_arithmetic(config, device, state.model));
  if (before.empty() || before == progress.arithmetic) return std::nullopt;
  return cat("arithmetic: ", progress.arithmetic, ", was ", before, "; ", kOtherBits);
}

}  // namespace alibi
