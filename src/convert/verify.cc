#include "convert/verify.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "base/strings.h"
#include "checkpoint/load_model.h"

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

double relative_error(const Gpt& model, const Tensors& read_back) {
  double difference = 0, whole = 0;
  for (const auto& parameter : model->named_parameters()) {
    const torch::Tensor ours = parameter.value().detach().to(torch::kDouble);
    difference +=
        (read_back.at(parameter.key()).to(torch::kDouble) - ours).square().sum().item<double>();
    whole += ours.square().sum().item<double>();
  }
  return whole > 0 ? std::sqrt(difference / whole) : 0;
}

}  // namespace

Verified verify_export(Gpt& model, const ModelConfig& config, const Tensors& read_back,
                       std::int64_t length, double most, const std::string& place) {
  const torch::NoGradGuard guard;
  Gpt other(config, model->vocabulary(), torch::kFloat);
  copy_weights(read_back, *other, place);
  other->eval();
  Verified verified;
  verified.weights = relative_error(model, read_back);
  for (const std::int64_t tried : {length, 4 * length}) {
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
  if (!std::isfinite(verified.logits) || verified.logits > most) {
    throw Error(place,
                cat("read back, its logits differ from the checkpoint's by ", verified.logits,
                    ", expected at most ", most),
                "nothing was kept; export it with more digits (--type f32)");
  }
  return verified;
}

}  // namespace alibi
