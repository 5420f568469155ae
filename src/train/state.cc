#include "train/state.h"

#include "base/checksums.h"
#include "base/log.h"
#include "base/strings.h"
#include "checkpoint/load_model.h"
#include "config/load.h"
#include "device/device.h"
#include "device/libtorch.h"
#include "train/rank_check.h"
#include "train/run_folder.h"
#include "train/start_from.h"

namespace alibi {
namespace {

Gpt build_model(const Config& c, const PreparedText& text, torch::Device device) {
  Gpt model = std::make_shared<GptImpl>(c.model, text.tokenizer.vocabulary(),
                                        activation_type(c.runtime.precision), c.runtime.attention,
                                        c.runtime.linear_layers);
  if (c.initialize.from.empty())
    model->initialize(static_cast<std::uint64_t>(c.run.seed), *c.initialize.standard_deviation);
  model->to(device);
  return model;
}

std::string hash_of(const Tensors& weights) {
  Sha256 hash;
  for (const auto& [name, weight] : weights) {
    const torch::Tensor here = weight.detach().to(torch::kCPU).contiguous();
    hash.update(name);
    hash.update({static_cast<const std::byte*>(here.data_ptr()), here.nbytes()});
  }
  return hash.hex();
}

// Who owns what of the optimizer's state.
int owner_of(const Shards& shards, const World& world) {
  return shards.ranks() == 1 ? 0 : world.rank();
}

}  // namespace

TrainState::TrainState(const Config& config, const PreparedText& text, torch::Device device,
                       World& world, const std::optional<Checkpoint>& resume)
    : model(build_model(config, text, device)),
      parameters(model->parameters()),
      shards(shards_for(shapes_of(named_parameters(*model)), config.optimizer,
                        owners(config.distributed.reduce, world.size()))),
      optimizer(named_parameters(*model), config.optimizer,
                activation_type(config.runtime.precision), shards, owner_of(shards, world)),
      config_(config),
      text_(text),
      device_(device),
      owner_(owner_of(shards, world)) {
  if (resume) {
    load_tensors(*resume);
    progress = resume->progress;
  } else {
    world.while_others_wait([&] { initialize_from_source(); });
    if (!config.initialize.from.empty() && !world.is_alone())
      refuse_different(world, hash_of(weights_of(*model)), "weights of SHA-256",
                       "give all ranks the same initialize.from");
  }
  progress.arithmetic_revision = arithmetic_revision(config.model);
}

void TrainState::load_tensors(const Checkpoint& checkpoint) {
  copy_weights(checkpoint.weights, *model, cat("checkpoint of step ", checkpoint.progress.step));
  optimizer.load_state(checkpoint.optimizer);
}

void TrainState::reset_tensors() {
  if (config_.initialize.from.empty())
    copy_weights(weights_of(*build_model(config_, text_, device_)), *model, "initial weights");
  else if (start_weights_.empty())  // this process did not begin the run
    read_source_again();
  else
    copy_weights(start_weights_, *model, config_.initialize.from);
  optimizer.reset();
}

void TrainState::initialize_from_source() {
  const std::string& source = config_.initialize.from;
  if (source.empty()) return;
  Start start = start_from(config_, text_.tokenizer);
  copy_weights(start.weights, *model, source);
  if (!start.surgery.empty()) log_info(cat("initialize.from ", source, ": ", start.surgery));
  if (!config_.guard.rolls_back()) return;
  const std::string found = hash_of(start.weights);
  std::string& known = progress.start_weights;
  if (!known.empty() && known != found)
    throw Error(source, cat("holds weights of SHA-256 ", found,
                            ", expected those that this run began with, ", known));
  known = found;
  start_weights_ = std::move(start.weights);
}

// It may have gone on since, or be gone: other weights would make another run of this one.
void TrainState::read_source_again() {
  try {
    initialize_from_source();
  } catch (const Error& error) {
    throw Error("/initialize/from", cat("a rollback to the start reads it again: ", error.what()),
                "put it back, or go on with --resume and guard.non_finite and guard.spikes set to "
                "\"skip\"");
  }
}

TensorShapes TrainState::optimizer_shapes() const {
  TensorShapes shapes;
  for (const Optimizer::StateShape& state : optimizer.state_shapes())
    shapes[state.name] = state.sizes;
  return shapes;
}

std::vector<TensorSlice> TrainState::optimizer_slices() const {
  const Tensors own = optimizer.state();
  std::vector<TensorSlice> slices;
  for (const Optimizer::StateShape& state : optimizer.state_shapes()) {
    const auto found = own.find(state.name);
    if (found != own.end())
      slices.push_back({state.name, shards.slice(owner_, state.parameter).first, found->second});
  }
  return slices;
}

Checkpoint TrainState::checkpoint() const {
  return {config_json(config_),
          text_.tokenizer.model(),
          run_identity(config_, text_.data_hash),
          text_.data_hash,
          progress,
          weights_of(*model),
          shares_optimizer() ? Tensors() : optimizer.state()};
}

}  // namespace alibi
