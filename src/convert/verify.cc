#include "convert/verify.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "base/stop.h"
#include "base/strings.h"
#include "checkpoint/load_model.h"
#include "device/libtorch.h"

namespace alibi {
namespace {

constexpr std::int64_t kPositions = 256;

// The same tokens on every machine.
torch::Tensor drawn_tokens(std::int64_t length, std::int64_t vocabulary) {
  torch::Tensor tokens = torch::empty({1, length}, torch::kLong);
  auto* ids = tokens.mutable_data_ptr<std::int64_t>();
  const RandomKey key = RandomKey{1}.with("export");
  for (std::int64_t i = 0; i < length; ++i)
    ids[i] = static_cast<std::int64_t>(uniform(key, static_cast<std::uint64_t>(i)) *
                                       static_cast<double>(vocabulary));
  return tokens;
}

// Of the row that differs most, relative to its norm: a lost row of a large tensor is seen, too.
double worst_row(const torch::Tensor& ours, const torch::Tensor& theirs, double number_rounding) {
  const auto rows = [](const torch::Tensor& x) {
    const torch::Tensor wide = x.detach().to(torch::kDouble);
    return wide.dim() < 2 ? wide.reshape({1, -1}) : wide.reshape({-1, x.size(-1)});
  };
  const torch::Tensor wide = rows(ours);
  const torch::Tensor norms = wide.norm(2, 1);
  const double rounding = number_rounding * std::sqrt(static_cast<double>(wide.size(1)));
  const torch::Tensor over = ((rows(theirs) - wide).norm(2, 1) - rounding).clamp_min(0);
  return torch::where(over == 0, over, over / norms).max().item<double>();
}

struct WorstTensor {
  std::string name;
  double difference = 0;  // of its worst row
};

WorstTensor worst_tensor(const Gpt& model, const Tensors& read_back, double rounding) {
  WorstTensor worst;
  for (const auto& parameter : model->named_parameters()) {
    leave_if_stopped("export");
    const double difference = worst_row(parameter.value(), read_back.at(parameter.key()), rounding);
    // Not "larger than": what is not a number is the worst.
    if (!(difference <= worst.difference)) worst = {parameter.key(), difference};
    if (!std::isfinite(difference)) break;
  }
  return worst;
}

}  // namespace

Verified verify_export(Gpt& model, const ModelConfig& config, const Tensors& read_back,
                       std::int64_t length, const MostDifference& most, const std::string& place) {
  const torch::NoGradGuard guard;
  Gpt other = std::make_shared<GptImpl>(config, model->vocabulary(), torch::kFloat);
  copy_weights(read_back, *other, place);
  Verified verified;
  const WorstTensor worst_weights = worst_tensor(model, read_back, most.rounding);
  verified.weights = worst_weights.difference;
  if (!(verified.weights <= most.weights))
    throw Error(
        place,
        cat("read back, a row of ", worst_weights.name, " differs from the checkpoint's by ",
            significant(verified.weights, 3), " of its norm, expected at most ", most.weights),
        "nothing was kept; export it with more digits (--type f32)");
  for (const std::int64_t tried : {length, 4 * length}) {
    leave_if_stopped("export");
    if (config.max_sequence_length && tried > *config.max_sequence_length) break;
    const torch::Tensor tokens = drawn_tokens(tried, model->vocabulary());
    const auto logits = [&](Gpt& one) {  // of every so many positions: all would be gigabytes
      const std::int64_t every = std::max<std::int64_t>(1, tried / kPositions);
      return one->logits(one->hidden(tokens).slice(1, 0, tried, every));
    };
    const torch::Tensor ours = logits(model), theirs = logits(other);
    const double worst = (ours - theirs).abs().max().item<double>();
    // Not std::max of the two: it drops what is not a number.
    if (!(worst <= verified.logits)) verified.logits = worst;
    if (!std::isfinite(verified.logits)) break;
    verified.length = tried;
  }
  if (!std::isfinite(verified.logits) || verified.logits > most.logits) {
    throw Error(place,
                cat("read back, its logits differ from the checkpoint's by ", verified.logits,
                    ", expected at most ", most.logits),
                "nothing was kept; export it with more digits (--type f32)");
  }
  return verified;
}

}  // namespace alibi
