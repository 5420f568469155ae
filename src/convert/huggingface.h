// Folders of transformers. Written: MPT for models with linear biases and nothing beside, BLOOM for
// those with all of its parts (convert/targets.h), and most others with a modelling file of their
// own (convert/custom_code.h). Read: all three, and GPT-2. Tensor names and layouts:
// convert/names.h.
//
//   config.json              what the model is; keys that the class ignores are written as they are
//   generation_config.json   begin and end token
//   model.safetensors        or model-00001-of-0000N.safetensors and model.safetensors.index.json
//   tokenizer.json           convert/tokenizer_json.h; tokenizer_config.json beside it
//   tokenizer.model          the sentencepiece model itself; absent: tokenizer.json says it all
#pragma once

#include <cstdint>
#include <filesystem>

#include "convert/foreign.h"
#include "convert/targets.h"
#include "device/tensor.h"
#include "model/gpt.h"
#include "text/tokenizer.h"

namespace alibi {

struct HuggingFaceOptions {
  Dialect target = Dialect::kMpt;  // or kBloom, kOwn
  torch::ScalarType type = torch::kFloat;
  std::int64_t longest = 2048;  // max_seq_len: transformers' MPT refuses longer input
  std::int64_t trained = 0;     // trained_length, for `alibi import`; 0: not written
  std::int64_t shard_bytes = 5'000'000'000;
};

// Writes into `folder`, which is there and empty. The target must be able to express the model.
void write_huggingface(const std::filesystem::path& folder, const GptImpl& model,
                       const Tokenizer& tokenizer, const HuggingFaceOptions& options);

// Reads such a folder, by whomever written. Throws Error naming file and key or tensor: weights
// that are missing, too many or of another shape, a model_type or a key we have no counterpart for.
ForeignModel read_huggingface(const std::filesystem::path& folder);

}  // namespace alibi
