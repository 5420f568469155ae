// Keys and values of the past, one pair per layer, for generation token by token.
#pragma once

#include <torch/torch.h>

#include <vector>

namespace alibi {

class KeyValueCache {
 public:
  explicit KeyValueCache(std::int64_t layers) : layers_(static_cast<std::size_t>(layers)) {}

  std::int64_t length() const { return length_; }  // positions that every layer holds

  struct View {
    torch::Tensor k_BGSD, v_BGSD;
  };
  // Adds T new positions to one layer and returns all of its S = length() + T. Storage doubles when
  // full.
  View extend(std::int64_t layer, const torch::Tensor& k_BGTD, const torch::Tensor& v_BGTD);
  // Ends a forward pass over T positions: every layer has been extended by them.
  void advance(std::int64_t positions) { length_ += positions; }

 private:
  std::vector<View> layers_;
  std::int64_t length_ = 0;
};

}  // namespace alibi
