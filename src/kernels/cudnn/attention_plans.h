// Built graphs, one a shape: building takes half a second, so each is kept.
#pragma once

#include <map>

#include "kernels/cudnn/attention_graph.h"

namespace alibi {

// Opens cuDNN; before everything else here. Throws std::runtime_error.
void open_cudnn(const char* library);

// Throws std::runtime_error with cuDNN's message unless `status` is good.
void expect_good(const char* what, const cudnn_frontend::error_t& status);

// Not for several threads at once.
class AttentionPlans {
 public:
  explicit AttentionPlans(PlanTarget target) : target_(std::move(target)) {}

  // Throws std::runtime_error where cuDNN has no engine for the shape.
  CudnnGraph& plan(const AttentionShape& shape);

  std::size_t size() const { return plans_.size(); }

 private:
  PlanTarget target_;
  std::map<AttentionShape, std::shared_ptr<CudnnGraph>> plans_;
};

}  // namespace alibi
