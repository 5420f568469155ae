#include "checkpoint/load_model.h"

#include "base/error.h"
#include "base/strings.h"
#include "config/load.h"
#include "device/device.h"

namespace alibi {
namespace {

void refuse_fixed(const std::vector<std::string>& overrides) {
  for (const std::string& change : overrides) {
    for (const char* section : {"model.", "batch.", "tokenizer.", "data.", "initialize.",
                                "optimizer.", "schedule.", "run."}) {
      if (!change.starts_with(section)) continue;
      throw usage_error("--set " + change, "has no effect on a trained model",
                        "only evaluate.* and runtime.* keys may be set here");
    }
  }
}

}  // namespace

void copy_weights(const Tensors& weights, torch::nn::Module& model, const std::string& place) {
  const torch::NoGradGuard guard;
  auto parameters = model.named_parameters();
  for (auto& parameter : parameters) {
    const auto found = weights.find(parameter.key());
    if (found == weights.end())
      throw Error(place, "holds no tensor " + parameter.key() + " that this model needs");
    if (found->second.sizes() != parameter.value().sizes()) {
      throw Error(place, cat("tensor ", parameter.key(), " has shape ", found->second.sizes(),
                             ", expected ", parameter.value().sizes()));
    }
    parameter.value().copy_(found->second);
  }
  for (const auto& [name, tensor] : weights) {
    if (!parameters.contains(name))
      throw Error(place, "holds a tensor " + name + " that this model lacks");
  }
}

Tensors weights_of(const torch::nn::Module& model) {
  Tensors weights;
  for (const auto& parameter : model.named_parameters())
    weights[parameter.key()] = parameter.value().detach();
  return weights;
}

LoadedModel load_model(const std::filesystem::path& given,
                       const std::vector<std::string>& overrides) {
  refuse_fixed(overrides);
  const std::filesystem::path folder = resolve_checkpoint(given);
  Checkpoint checkpoint = load_checkpoint(folder, Load::kWeights);
  const std::string place = (folder / "config.json").string();
  Config config = parse_config(checkpoint.config_json, place, overrides);
  const torch::Device device = open_device(config.runtime.device);
  set_threads(config.runtime.threads);
  config.runtime.precision = resolve_precision(config.runtime.precision, device);
  Tokenizer tokenizer = checkpoint.tokenizer_model.empty()
                            ? Tokenizer::bytes()
                            : Tokenizer::from_model(checkpoint.tokenizer_model,
                                                    (folder / "tokenizer.model").string());
  Gpt model(config.model, tokenizer.vocabulary(), activation_type(config.runtime.precision),
            config.runtime.attention);
  copy_weights(checkpoint.weights, *model, (folder / "weights.safetensors").string());
  model->to(device);
  model->eval();
  return {folder, std::move(config), std::move(model), std::move(tokenizer), checkpoint.progress,
          device};
}

}  // namespace alibi
