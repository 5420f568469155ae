#include "train/gradient_accumulator.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/strings.h"
#include "device/libtorch.h"
#include "device/memory.h"
#include "model/loss/cross_entropy.h"

namespace alibi {
namespace {

constexpr std::int64_t kWarmUpLength = 256;  // positions; a multiple of every tile

// Rows first .. first + count - 1 of a batch as an int64 tensor (count, T).
torch::Tensor slice(std::vector<std::int64_t>& values, const Batch& batch, std::int64_t first,
                    std::int64_t count, torch::Device device) {
  return torch::from_blob(values.data() + first * batch.length, {count, batch.length}, torch::kLong)
      .to(device);
}

// The largest number of rows that divides `rows` and is at most `wanted`, at least 1.
std::int64_t divisor_up_to(std::int64_t rows, std::int64_t wanted) {
  for (std::int64_t count = std::clamp<std::int64_t>(wanted, 1, rows);; --count) {
    if (rows % count == 0) return count;
  }
}

void set_gradients(std::vector<torch::Tensor>& parameters, std::vector<torch::Tensor> gradients) {
  for (std::size_t i = 0; i < parameters.size(); ++i)
    parameters[i].mutable_grad() = std::move(gradients[i]);
}

[[noreturn]] void throw_out_of_memory(std::int64_t step, std::int64_t length) {
  throw Error(cat("step ", step),
              cat("one sequence of ", length, " tokens does not fit into memory"),
              "the checkpoints saved before stay; set runtime.recompute to \"blocks\", or make "
              "model, vocabulary or trained length smaller");
}

}  // namespace

GradientAccumulator::GradientAccumulator(const Config& config, torch::Device device,
                                         TrainState& state, Agreement& agreement, Emitter& emitter)
    : config_(config),
      device_(device),
      state_(state),
      agreement_(agreement),
      emitter_(emitter),
      lanes_(lanes_of(config.batch)),
      own_(own_lanes(lanes_, agreement.world().rank(), agreement.world().size())) {}

double GradientAccumulator::compute(Batch& batch) {
  const std::int64_t step = state_.progress.step + 1;
  while (true) {
    state_.optimizer.zero_gradients();
    std::optional<std::vector<double>> own;
    try {
      own = forward_backward(batch);
    } catch (const std::exception& error) {
      if (!is_out_of_memory(error)) throw;
    }
    if (const auto all = agreement_.gather(own, static_cast<std::size_t>(own_.count)))
      return std::accumulate(all->begin(), all->end(), 0.0);
    if (!shrink_micro_batch(batch)) throw_out_of_memory(step, batch.length);
    emitter_.emit(MicroBatchRecord{step, micro_batch_tokens()});
  }
}

void GradientAccumulator::warm_up() {
  const std::int64_t length = batch_shape(config_.batch).length;
  Batch batch;
  batch.rows = lanes_;
  batch.length = length <= kWarmUpLength ? length : kWarmUpLength + length % kWarmUpLength;
  batch.inputs.assign(static_cast<std::size_t>(batch.rows * batch.length), 0);
  batch.targets = batch.inputs;
  fits_in_memory([&] { forward_backward(batch); });  // else the first step reports it
  state_.optimizer.zero_gradients();
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
  return true;
}

// Micro batches are equal, so the mean over the batch is the mean of theirs. They are numbered
// through all lanes: dropout does not depend on who computes which.
std::vector<double> GradientAccumulator::forward_backward(Batch& batch) {
  const std::int64_t rows = rows_of_part(batch);
  const std::int64_t parts = batch.rows / rows;
  const std::int64_t parts_of_lane = parts / lanes_;
  const RandomKey random =
      RandomKey{static_cast<std::uint64_t>(config_.run.seed)}.with("dropout").with(
          static_cast<std::uint64_t>(state_.progress.step));
  const std::int64_t targets = batch.target_count();
  LossOptions mean{.chunk_rows = config_.runtime.loss_chunk_rows, .z_loss = config_.guard.z_loss};
  mean.divisor = std::max(1.0, static_cast<double>(targets)) / static_cast<double>(parts);
  mean.left_out = targets < std::ssize(batch.targets);
  const auto loss_of = [&](std::int64_t part) {
    const auto of_part = [&](std::vector<std::int64_t>& values) {
      return slice(values, batch, part * rows, rows, device_);
    };
    ForwardOptions options;
    options.training = true;
    options.recompute = config_.runtime.recompute == Recompute::kBlocks;
    options.random = random.with(static_cast<std::uint64_t>(part));
    if (!batch.document_starts.empty()) options.document_start_BT = of_part(batch.document_starts);
    const torch::Tensor hidden_BTC = state_.model->hidden(of_part(batch.inputs), options);
    const torch::Tensor targets_BT = of_part(batch.targets);
    const TrainingLoss part_loss = training_loss(hidden_BTC.flatten(0, 1), state_.model->head_VC(),
                                                 targets_BT.flatten(), mean);
    (part_loss.objective / parts).backward();
    return part_loss.cross_entropy.item<double>() / static_cast<double>(parts);
  };
  std::vector<double> losses;
  LaneSum sum;
  for (std::int64_t lane = own_.first; lane < own_.first + own_.count; ++lane) {
    double loss = 0;
    for (std::int64_t part = lane * parts_of_lane; part < (lane + 1) * parts_of_lane; ++part)
      loss += loss_of(part);
    losses.push_back(loss);
    if (own_.count == 1) continue;
    sum.add(gradients_of(state_.parameters));
    state_.optimizer.zero_gradients();
  }
  if (own_.count > 1) set_gradients(state_.parameters, sum.take());
  return losses;
}

}  // namespace alibi
