// A checkpoint of a few bytes that differs from step to step.
#pragma once

#include <string>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "device/libtorch.h"

namespace alibi {

inline Checkpoint example_checkpoint(std::int64_t step) {
  Checkpoint checkpoint;
  checkpoint.config_json = "{\"model\": {}}\n";
  checkpoint.tokenizer_model = std::string("piece\0s", 7);
  checkpoint.identity = "run-hash";
  checkpoint.progress.step = step;
  checkpoint.progress.tokens = step * 1024;
  checkpoint.weights["head.weight"] = torch::full({2, 3}, double(step));
  checkpoint.weights["norm"] = torch::full({3}, double(-step), torch::kBFloat16);
  checkpoint.optimizer["head.weight.first"] = torch::full({2, 3}, 0.5 * double(step));
  return checkpoint;
}

inline bool same_tensors(const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, tensor] : a) {
    if (!b.contains(name) || b.at(name).scalar_type() != tensor.scalar_type()) return false;
    if (!torch::equal(tensor.cpu(), b.at(name))) return false;
  }
  return true;
}

inline bool same_checkpoint(const Checkpoint& a, const Checkpoint& b) {
  return a.config_json == b.config_json && a.tokenizer_model == b.tokenizer_model &&
         a.identity == b.identity && a.progress == b.progress &&
         same_tensors(a.weights, b.weights) && same_tensors(a.optimizer, b.optimizer);
}

// The message of the Error that `action` throws, "" when it throws none.
template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace alibi
