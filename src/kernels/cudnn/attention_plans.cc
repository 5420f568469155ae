#include "kernels/cudnn/attention_plans.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace cudnn_frontend {

void* cudnn_dlhandle = nullptr;  // the frontend's functions look here for cuDNN's

}  // namespace cudnn_frontend

namespace alibi {
namespace {

std::shared_ptr<CudnnGraph> build(const AttentionShape& shape, const PlanTarget& target) {
  std::shared_ptr<CudnnGraph> graph = attention_graph(shape, target);
  expect_good("the graph", graph->validate());
  expect_good("its operations", target.described != nullptr
                                    ? graph->build_operation_graph()
                                    : graph->build_operation_graph(target.handle));
  expect_good("its engines", graph->create_execution_plans({cudnn_frontend::HeurMode_t::A}));
  expect_good("its support", graph->check_support());
  expect_good("its plan", graph->build_plans());
  return graph;
}

}  // namespace

void open_cudnn(const char* library) {
  void* opened = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
  if (opened == nullptr) throw std::runtime_error(dlerror());
  cudnn_frontend::cudnn_dlhandle = opened;
}

void expect_good(const char* what, const cudnn_frontend::error_t& status) {
  if (status.is_good()) return;
  throw std::runtime_error(std::string("cuDNN refuses ") + what + ": " + status.err_msg);
}

CudnnGraph& AttentionPlans::plan(const AttentionShape& shape) {
  std::shared_ptr<CudnnGraph>& kept = plans_[shape];
  if (kept == nullptr) {
    try {
      kept = build(shape, target_);
    } catch (...) {
      plans_.erase(shape);
      throw;
    }
  }
  return *kept;
}

}  // namespace alibi
