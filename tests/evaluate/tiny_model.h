// A small random model and a text for it, for tests of evaluation.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/load_model.h"
#include "config/load.h"
#include "data/text_sample.h"
#include "device/libtorch.h"

namespace alibi::test {

inline LoadedModel tiny(const std::string& position, const std::vector<std::string>& more = {}) {
  torch::set_num_threads(1);
  std::vector<std::string> keys = {
      "model.layers=1",         "model.width=16",
      "model.heads=2",          "batch.sequence_length=32",
      "tokenizer.kind=bytes",   "batch.train_sequence_length_scaling=0.5",
      "runtime.precision=fp32", "model.position=" + position};
  keys.insert(keys.end(), more.begin(), more.end());
  LoadedModel loaded{.folder = "nowhere",
                     .config = load_config({}, keys),
                     .tokenizer = Tokenizer::bytes(),
                     .progress = {},
                     .data_hash = {}};
  loaded.model = std::make_shared<GptImpl>(loaded.config.model, 259, torch::kFloat,
                                           loaded.config.runtime.attention);
  loaded.model->initialize(1, 0.3);  // far from uniform
  return loaded;
}

inline std::vector<std::int32_t> some_targets(std::int64_t count) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(i % 23 == 22 ? Tokenizer::kEnd : static_cast<std::int32_t>(3 + (i * i) % 90));
  return ids;
}

// All of a text as one run without context before it.
inline TextSample whole(const std::vector<std::int32_t>& ids, std::int64_t window) {
  const std::int64_t size = std::ssize(ids);
  return {.ids = ids,
          .runs = {{.first = 0, .count = size, .context = 0}},
          .rule = {.window = window, .most = size},
          .available = size,
          .windows = size / window};
}

}  // namespace alibi::test
