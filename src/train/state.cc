#include "train/state.h"

#include "base/log.h"
#include "base/strings.h"
#include "checkpoint/load_model.h"
#include "config/load.h"
#include "device/device.h"
#include "device/libtorch.h"
#include "train/run_folder.h"
#include "train/start_from.h"

namespace alibi {
namespace {

Gpt build_model(const Config& c, const PreparedText& text, torch::Device device) {
  Gpt model = std::make_shared<GptImpl>(c.model, text.tokenizer.vocabulary(),
                                        activation_type(c.runtime.precision), c.runtime.attention);
  if (c.initialize.from.empty())
    model->initialize(static_cast<std::uint64_t>(c.run.seed), *c.initialize.standard_deviation);
  model->to(device);
  return model;
}

}  // namespace

TrainState::TrainState(const Config& config, const PreparedText& text, torch::Device device,
                       World& world, const std::optional<Checkpoint>& resume)
    : model(build_model(config, text, device)),
      parameters(model->parameters()),
      shards(sizes_of(named_parameters(*model)), world.size()),
      optimizer(named_parameters(*model), config.optimizer, shards, world.rank()),
      config_(config),
      text_(text),
      device_(device),
      world_(world) {
  if (resume) {
    load_tensors(*resume);
    progress = resume->progress;
  } else {
    initialize_from_source();
  }
  progress.arithmetic_revision = arithmetic_revision(config.model);
}

void TrainState::load_tensors(const Checkpoint& checkpoint) {
  copy_weights(checkpoint.weights, *model, cat("checkpoint of step ", checkpoint.progress.step));
  optimizer.load_state(checkpoint.optimizer);
}

void TrainState::reset_tensors() {
  copy_weights(weights_of(*build_model(config_, text_, device_)), *model, "initial weights");
  initialize_from_source();
  optimizer.reset();
}

void TrainState::initialize_from_source() {
  const std::string& source = config_.initialize.from;
  if (source.empty()) return;
  const Start start = start_from(config_, text_.tokenizer);
  copy_weights(start.weights, *model, source);
  if (!start.surgery.empty()) log_info(cat("initialize.from ", source, ": ", start.surgery));
}

// One tensor after another, so that the first rank holds each once: what it receives is put where
// it belongs.
Tensors TrainState::whole_optimizer_state() const {
  Tensors own = optimizer.state();
  if (world_.is_alone()) return own;
  const auto ranks = static_cast<std::size_t>(world_.size());
  const auto me = static_cast<std::size_t>(world_.rank());
  Tensors all;
  for (const auto& [name, parameter] : optimizer.state_names()) {
    const torch::Tensor& like = parameters[parameter];
    const auto none = torch::empty({0}, like.options().requires_grad(false));
    std::vector<torch::Tensor> to(ranks, none), from(ranks, none);
    if (own.contains(name)) to[0] = own.at(name).flatten();
    if (world_.is_first()) {
      const torch::Tensor& whole = all[name] = torch::empty_like(like, torch::kCPU);
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const Slice slice = shards.slice(static_cast<int>(rank), parameter);
        from[rank] = whole.flatten().narrow(0, slice.first, slice.count);
      }
      from[me].copy_(to[me]);
    }
    world_.exchange(to, from);
  }
  return all;
}

Checkpoint TrainState::checkpoint() const {
  return {config_json(config_),
          text_.tokenizer.model(),
          run_identity(config_, text_.data_hash),
          text_.data_hash,
          progress,
          weights_of(*model),
          whole_optimizer_state()};
}

}  // namespace alibi
