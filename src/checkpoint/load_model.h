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
  std::string data_hash;  // of the text it was trained on; "": not known
  torch::Device device = torch::kCPU;
};

// What a model will run with, before any of its tensors is made: a CUDA device must be opened
// first.
struct ModelPlan {
  std::filesystem::path folder;
  Config config;  // as LoadedModel's, precision resolved
  torch::Device device = torch::kCPU;
};

// `given` as for resolve_checkpoint; `overrides` as --set, for evaluate and runtime keys only: the
// weights were trained with all others. Opens the device, of several the one with this index.
// Throws Error.
ModelPlan plan_model(const std::filesystem::path& given, const std::vector<std::string>& overrides,
                     int device_index = 0);

// Sets the thread count. Throws Error.
LoadedModel load_model(const ModelPlan& plan);
LoadedModel load_model(const std::filesystem::path& given,
                       const std::vector<std::string>& overrides);

// Copies weights by name into `model`; every name and shape must match. `place` heads the Error.
void copy_weights(const Tensors& weights, Module& model, const std::string& place);

// The model's parameters by name, detached: what a checkpoint stores.
Tensors weights_of(const Module& model);

}  // namespace alibi
