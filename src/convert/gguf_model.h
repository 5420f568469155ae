// A model as one file for llama.cpp: its architecture "mpt" (LayerNorm, biases where there are any,
// linear biases of any bias_max, or learned positions), tokenizer included.
//
// llama.cpp computes GELU by its tanh form through a table of fp16: an erf model is not the same to
// the last digits (some 1e-3 in logits).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "checkpoint/tensors.h"
#include "formats/gguf.h"
#include "model/gpt.h"
#include "text/tokenizer.h"

namespace alibi {

struct GgufOptions {
  GgufElement element = GgufElement::kF32;  // of matrices; vectors and positions are always F32
  std::int64_t longest = 2048;              // mpt.context_length: servers cut longer input
  std::string name;
};

// What of model or tokenizer the file cannot hold, a phrase each; empty: nothing.
std::vector<std::string> gguf_obstacles(const ModelConfig& model, const Tokenizer& tokenizer,
                                        GgufElement element);

void write_gguf_model(const std::filesystem::path& path, const GptImpl& model,
                      const Tokenizer& tokenizer, const GgufOptions& options);

// The weights of such a file in fp32, by our names. Throws Error naming a tensor that is missing or
// has another shape than `model` asks for.
Tensors read_gguf_weights(const std::filesystem::path& path, const ModelConfig& model,
                          std::int64_t vocabulary);

}  // namespace alibi
