// c10d's groups of Gloo, for links.cc and farewells.cc alone.
#pragma once

#define USE_C10D_GLOO  // without it the header of Gloo's groups is empty

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <utility>
#include <vector>

namespace alibi {

using GlooGroup = c10d::ProcessGroupGloo;
using GlooGroupPointer = c10::intrusive_ptr<GlooGroup>;
using GlooWork = c10::intrusive_ptr<c10d::Work>;

inline GlooWork send_to(GlooGroup& group, torch::Tensor tensor, int peer, int tag) {
  std::vector<torch::Tensor> one = {std::move(tensor)};
  return group.send(one, peer, tag);
}

inline GlooWork receive_from(GlooGroup& group, torch::Tensor tensor, int peer, int tag) {
  std::vector<torch::Tensor> one = {std::move(tensor)};
  return group.recv(one, peer, tag);
}

}  // namespace alibi
