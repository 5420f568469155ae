#include "train/gradient_accumulator.h"

#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/strings.h"
#include "device/libtorch.h"
#include "device/memory.h"
#include "model/loss/cross_entropy.h"

namespace alibi {
namespace {

constexpr std::int64_t kWarmUpLength = 256;  // positions; a multiple of every tile

// On the processor the batch's own memory. To a device one copy from pinned memory, for which
// nobody waits.
PlacedBatch placed(const Batch& batch, torch::Device device) {
  std::vector<const std::vector<std::int64_t>*> parts{&batch.inputs, &batch.targets};
  if (!batch.document_starts.empty()) parts.push_back(&batch.document_starts);
  const std::int64_t count = batch.rows * batch.length;
  std::vector<torch::Tensor> tensors;
  if (device.is_cpu()) {
    for (const auto* part : parts) {
      auto* const data = const_cast<std::int64_t*>(part->data());  // only read
      tensors.push_back(torch::from_blob(data, {batch.rows, batch.length}, torch::kLong));
    }
  } else {
    const torch::Tensor here =
        torch::empty({std::ssize(parts), batch.rows, batch.length},
                     torch::TensorOptions(torch::kLong).pinned_memory(device.is_cuda()));
    for (std::size_t i = 0; i < parts.size(); ++i)
      std::copy_n(parts[i]->data(), count,
                  here.data_ptr<std::int64_t>() + static_cast<std::int64_t>(i) * count);
    tensors = here.to(device, torch::kLong, /*non_blocking=*/true).unbind();
  }
  return {tensors[0], tensors[1], tensors.size() > 2 ? tensors[2] : torch::Tensor()};
}

class Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit Hook(std::function<void()> call) : call_(std::move(call)) {}
  void operator()(const torch::Tensor&) override { call_(); }

 private:
  std::function<void()> call_;
};

void set_hook(const torch::Tensor& parameter, std::unique_ptr<Hook> hook) {
  torch::autograd::impl::set_post_acc_grad_hooks(parameter, std::move(hook));
}

[[noreturn]] void throw_out_of_memory(std::int64_t step, std::int64_t length) {
  throw Error(cat("step ", step),
              cat("one sequence of ", length, " tokens does not fit into memory"),
              "the checkpoints saved before stay; set runtime.recompute to \"blocks\", or make "
              "model, vocabulary or trained length smaller");
}

}  // namespace

GradientAccumulator::GradientAccumulator(const Config& config, torch::Device device,
                                         TrainState& state, GradientExchange& exchange,
                                         Agreement& agreement, Emitter& emitter,
                                         const DeviceGraphs& graphs)
    : config_(config),
      device_(device),
      state_(state),
      exchange_(exchange),
      agreement_(agreement),
      emitter_(emitter),
      lanes_(lanes_of(config.batch)),
      own_(own_lanes(lanes_, agreement.world().rank(), agreement.world().size())),
      graphs_(graphs, state.parameters),
      added_(state.parameters.size()),
      additions_(state.parameters.size()) {
  // On a device gradients are ready later than backward's calls return.
  if (agreement.world().is_alone() || !device.is_cpu()) return;
  for (std::size_t i = 0; i < state.parameters.size(); ++i)
    set_hook(state.parameters[i], std::make_unique<Hook>([this, i] { accumulated(i); }));
}

GradientAccumulator::~GradientAccumulator() {
  for (const torch::Tensor& parameter : state_.parameters) set_hook(parameter, nullptr);
}

StepFigures GradientAccumulator::compute(const Batch& batch) {
  const std::int64_t step = state_.progress.step + 1;
  while (true) {
    state_.optimizer.zero_gradients();
    exchange_.begin();
    torch::Tensor own;
    try {
      own = forward_backward(batch, /*gives=*/true);
    } catch (const std::exception& error) {
      if (!is_out_of_memory(error)) throw;
    }
    exchange_.finish();
    if (const auto figures = figures_of(own)) return *figures;
    // They take more of it. Only one process alone has them: all ranks would have to give them up.
    if (graphs_.set_aside("memory ran out")) continue;
    if (!shrink_micro_batch(batch)) throw_out_of_memory(step, batch.length);
    emitter_.emit(MicroBatchRecord{step, micro_batch_tokens()});
  }
}

std::optional<StepFigures> GradientAccumulator::figures_of(const torch::Tensor& losses) {
  // One lane is one process: both figures are computed before the device is waited for.
  const bool one_lane = lanes_ == 1;
  std::vector<double> read;
  if (losses.defined()) {
    std::vector<torch::Tensor> wanted{losses};
    if (one_lane) wanted.push_back(gradient_norms(exchange_.gradients()));
    const torch::Tensor here = torch::cat(wanted).cpu();
    read.assign(here.data_ptr<double>(), here.data_ptr<double>() + here.numel());
  }
  const auto own = static_cast<std::size_t>(own_.count);
  const auto all = agreement_.gather(
      losses.defined() ? std::optional(std::vector(read.begin(), read.begin() + own_.count))
                       : std::nullopt,
      own);
  if (!all) return std::nullopt;
  const double norm = one_lane ? joint_norm(std::span(read).subspan(own)) : exchange_.norm();
  return StepFigures{std::accumulate(all->begin(), all->end(), 0.0), norm};
}

void GradientAccumulator::warm_up() {
  const BatchShape shape = batch_shape(config_.batch);
  const bool alone = agreement_.world().is_alone();
  Batch whole;
  whole.rows = shape.rows;
  whole.length = shape.length;
  while (true) {
    Batch batch = whole;
    batch.rows = lanes_ * (alone ? 1 : rows_of_part(whole));
    if (alone && shape.length > kWarmUpLength)
      batch.length = kWarmUpLength + shape.length % kWarmUpLength;
    batch.inputs.assign(static_cast<std::size_t>(batch.rows * batch.length), 0);
    batch.targets = batch.inputs;
    const bool fits = fits_in_memory([&] { forward_backward(batch, /*gives=*/false); });
    additions_ = fits ? added_ : std::vector<int>(added_.size());
    state_.optimizer.zero_gradients();
    if (alone || agreement_.everywhere(fits) || !shrink_micro_batch(whole)) return;
    emitter_.emit(MicroBatchRecord{state_.progress.step + 1, micro_batch_tokens()});
  }
}

void GradientAccumulator::accumulated(std::size_t parameter) {
  ++added_[parameter];
  ensure(!gives_ || additions_[parameter] == 0 || added_[parameter] <= additions_[parameter],
         "a gradient that was given is not added to");
  if (gives_ && added_[parameter] == additions_[parameter]) give(parameter);
}

void GradientAccumulator::give(std::size_t parameter) {
  exchange_.give(parameter, sum_.take(parameter, state_.parameters[parameter].grad()));
}

std::int64_t GradientAccumulator::micro_batch_tokens() const {
  const std::int64_t lowered = state_.progress.micro_batch_tokens;
  return lowered > 0 ? lowered : micro_batch_tokens_of(config_.batch);
}

std::int64_t GradientAccumulator::rows_of_part(const Batch& batch) const {
  return divisor_up_to(batch.rows / lanes_, micro_batch_tokens() / batch.length);
}

bool GradientAccumulator::shrink_micro_batch(const Batch& batch) {
  const std::int64_t rows = rows_of_part(batch);
  if (rows == 1) return false;
  state_.progress.micro_batch_tokens = divisor_up_to(batch.rows / lanes_, rows / 2) * batch.length;
  give_back_freed_memory();  // the heap of the larger one would be lacking elsewhere
  return true;
}

// Micro batches are equal, so the mean over the batch is the mean of theirs. They are numbered
// through all lanes: dropout does not depend on who computes which.
torch::Tensor GradientAccumulator::loss_of_part(const Batch& batch, const PlacedBatch& rows,
                                                std::int64_t part) {
  const std::int64_t targets = batch.target_count();
  LossOptions mean{.chunk_rows = config_.runtime.loss_chunk_rows,
                   .z_loss = config_.guard.z_loss,
                   .packs = config_.runtime.linear_layers != LinearLayers::kLibtorch,
                   .starts_backward = true};
  // Of the whole batch, so that a part's gradients need no factor, which bf16 would round.
  mean.divisor = std::max(1.0, static_cast<double>(targets));
  mean.left_out = targets < std::ssize(batch.targets);
  ForwardOptions options = training_options(config_);
  options.random = RandomKey{static_cast<std::uint64_t>(config_.run.seed)}
                       .with("dropout")
                       .with(static_cast<std::uint64_t>(state_.progress.step))
                       .with(static_cast<std::uint64_t>(part));
  options.document_start_BT = rows.starts_BT;
  const torch::Tensor hidden_BTC = state_.model->hidden(rows.inputs_BT, options);
  const TrainingLoss loss = training_loss(hidden_BTC.flatten(0, 1), state_.model->head_VC(),
                                          rows.targets_BT.flatten(), mean);
  loss.objective.backward();
  return loss.cross_entropy.to(torch::kDouble);
}

torch::Tensor GradientAccumulator::forward_backward(const Batch& batch, bool gives) {
  const std::int64_t rows = rows_of_part(batch), parts_of_lane = batch.rows / rows / lanes_;
  // How many targets count is a number within a graph.
  const bool repeatable = gives && batch.target_count() == std::ssize(batch.targets);
  const PlacedBatch here = placed(batch, device_);
  std::vector<torch::Tensor> losses;
  sum_.clear();
  for (std::int64_t own = 0; own < own_.count; ++own) {
    if (own > 0) {
      sum_.add(gradients_of(state_.parameters));
      state_.optimizer.zero_gradients();
    }
    const std::int64_t first = (own_.first + own) * parts_of_lane;
    torch::Tensor loss = torch::zeros({}, torch::TensorOptions(torch::kDouble).device(device_));
    for (std::int64_t part = first; part < first + parts_of_lane; ++part) {
      added_.assign(added_.size(), 0);
      gives_ = gives && own + 1 == own_.count && part + 1 == first + parts_of_lane;
      loss += graphs_.run(here.rows(part * rows, rows), repeatable,
                          [&](const PlacedBatch& some) { return loss_of_part(batch, some, part); });
    }
    losses.push_back(loss);
  }
  const torch::Tensor losses_L = torch::stack(losses);
  if (!gives) return losses_L;
  for (std::size_t i = 0; i < state_.parameters.size(); ++i)
    if (!exchange_.is_given(i)) give(i);
  sum_.clear();
  return losses_L;
}

}  // namespace alibi
