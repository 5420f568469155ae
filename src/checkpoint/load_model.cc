#include "checkpoint/load_model.h"

#include "base/error.h"
#include "base/strings.h"
#include "config/load.h"
#include "device/device.h"
#include "model/attention.h"

namespace alibi {
void copy_weights(const Tensors& weights, Module& model, const std::string& place) {
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

Tensors weights_of(const Module& model) {
  Tensors weights;
  for (const auto& parameter : model.named_parameters())
    weights[parameter.key()] = parameter.value().detach();
  return weights;
}

ModelPlan plan_model(const std::filesystem::path& given, const std::vector<std::string>& overrides,
                     int device_index) {
  // Whatever is not how a model is measured or run was fixed when it was trained.
  constexpr const char* kNoEffect = "has no effect on a trained model";
  allow_overrides(overrides, {"evaluate", "runtime"}, kNoEffect);
  for (const char* key :
       {"runtime.linear_layers", "runtime.memory_limit_bytes", "runtime.recompute"})
    if (names_key(overrides, key)) throw usage_error(cat("--set ", key), kNoEffect);
  const std::filesystem::path folder = resolve_checkpoint(given);
  Config config =
      parse_config(checkpoint_config(folder), (folder / "config.json").string(), overrides);
  check_attention_name(config.runtime.attention.kernel);
  // A model may run on another device than it was trained on.
  if (!names_key(overrides, "runtime.device")) config.runtime.device = Device::kAuto;
  const torch::Device device = open_device(config.runtime.device, device_index);
  if (!names_key(overrides, "runtime.precision") && config.runtime.precision == Precision::kTf32 &&
      !device.is_cuda())
    config.runtime.precision = Precision::kFp32;
  config.runtime.precision = resolve_precision(config.runtime.precision, device);
  std::string& kernel = config.runtime.attention.kernel;
  if (!names_key(overrides, "runtime.attention.kernel") && needs_cuda(kernel) && !device.is_cuda())
    kernel = "auto";
  return {folder, std::move(config), device};
}

LoadedModel load_model(const ModelPlan& plan) {
  const Config& config = plan.config;
  set_threads(config.runtime.threads);
  Checkpoint checkpoint = load_checkpoint(plan.folder, Load::kWeights);
  Tokenizer tokenizer = Tokenizer::restored(
      checkpoint.tokenizer_model,
      (plan.folder / Tokenizer::file_name(checkpoint.tokenizer_model)).string());
  Gpt model = std::make_shared<GptImpl>(config.model, tokenizer.vocabulary(),
                                        activation_type(config.runtime.precision),
                                        config.runtime.attention);
  copy_weights(checkpoint.weights, *model, (plan.folder / "weights.safetensors").string());
  model->to(plan.device);
  return {
      plan.folder,          config,     std::move(model), std::move(tokenizer), checkpoint.progress,
      checkpoint.data_hash, plan.device};
}

LoadedModel load_model(const std::filesystem::path& given,
                       const std::vector<std::string>& overrides) {
  return load_model(plan_model(given, overrides));
}

}  // namespace alibi
