// A model ready to run from a checkpoint or run folder: what evaluate and generate start from.
#pragma once

#include <filesystem>
#include <string>

#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "model/gpt.h"
#include "text/tokenizer.h"

namespace alibi {

struct LoadedModel {
  std::filesystem::path folder;  // the checkpoint's
  Config config;                 // as trained, with overrides on top
  Gpt model{nullptr};
  Tokenizer tokenizer;
  Progress progress;
  torch::Device device = torch::kCPU;
};

// `given` as for resolve_checkpoint; `overrides` as --set. Model, batch and tokenizer keys may not
// be overridden: the weights were trained with them. Sets the thread count. Throws Error.
LoadedModel load_model(const std::filesystem::path& given,
                       const std::vector<std::string>& overrides);

// Copies weights by name into `model`; every name and shape must match. `place` heads the Error.
void copy_weights(const Tensors& weights, torch::nn::Module& model, const std::string& place);

// The model's parameters by name, detached: what a checkpoint stores.
Tensors weights_of(const torch::nn::Module& model);

}  // namespace alibi
