// A model as one file for llama.cpp: its architecture "mpt" (LayerNorm, biases where there are any,
// linear biases of any bias_max, or learned positions), tokenizer included.
//
// llama.cpp computes GELU by its tanh form through a table of fp16: an erf model is not the same to
// the last digits (some 1e-3 in logits).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "convert/foreign.h"
#include "formats/gguf.h"
#include "model/gpt.h"
#include "text/tokenizer.h"

namespace alibi {

struct GgufOptions {
  GgufElement element = GgufElement::kF32;  // of matrices; vectors and positions are always F32
  // mpt.context_length: servers cut longer input. Of learned positions the rows of their table.
  std::int64_t longest = 2048;
  std::string name;
};

// What of model or tokenizer the file cannot hold, a phrase each; empty: nothing.
std::vector<std::string> gguf_obstacles(const ModelConfig& model, const Tokenizer& tokenizer,
                                        GgufElement element);

void write_gguf_model(const std::filesystem::path& path, const GptImpl& model,
                      const Tokenizer& tokenizer, const GgufOptions& options);

// The model that such a file speaks of, by its keys alone: weights in fp32, no tokenizer. Of the
// form of GELU a file says nothing. Throws Error naming a key or tensor that is missing or has
// another shape than the keys ask for.
ForeignModel read_gguf_model(const std::filesystem::path& path, Activation activation);

}  // namespace alibi
