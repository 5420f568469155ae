#include "train/part_graphs.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/strings.h"
#include "device/libtorch.h"
#include "train/optimizer/optimizer.h"

namespace alibi {
namespace {

std::vector<torch::Tensor> copies_of(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> copies;
  for (const torch::Tensor& tensor : tensors) copies.push_back(tensor.clone());
  return copies;
}

}  // namespace

PlacedBatch PlacedBatch::rows(std::int64_t first, std::int64_t count) const {
  const auto some = [&](const torch::Tensor& whole_BT) {
    return whole_BT.defined() ? whole_BT.narrow(0, first, count) : whole_BT;
  };
  return {some(inputs_BT), some(targets_BT), some(starts_BT)};
}

DeviceGraphs graphs_for(const Config& config, torch::Device device) {
  if (!config.runtime.cuda_graph) return {nullptr, "not asked for"};
  if (!device.is_cuda()) return {nullptr, "the run is not on a CUDA device"};
  if (has_dropout(config.model)) return {nullptr, "dropout, whose masks change with the step"};
  if (lanes_of(config.batch) > 1) return {nullptr, "batch.lanes, whose gradients are kept"};
  return device_graphs();
}

bool PartGraphs::is_first() const { return !parameters_.front().grad().defined(); }

torch::Tensor PartGraphs::run(const PlacedBatch& batch, bool fits, const Run& run) {
  if (module_ == nullptr) return run(batch);
  if (!inputs_.inputs_BT.defined() || batch.inputs_BT.sizes() != inputs_.inputs_BT.sizes()) {
    forget();
    inputs_ = {batch.inputs_BT.clone(), batch.targets_BT.clone(),
               batch.starts_BT.defined() ? batch.starts_BT.clone() : torch::Tensor()};
  }
  const bool first = is_first();
  Graph& graph = first ? first_ : later_;
  // Later ones add to the gradients of the first's graph.
  const bool adds_elsewhere =
      !first && (gradients_.empty() || !parameters_.front().grad().is_same(gradients_.front()));
  if (!fits || adds_elsewhere) return run(batch);
  place(batch);
  if (!graph.captured.graph) return capture(graph, run);
  if (first) set_gradients(gradients_);
  graph.captured.graph->replay();
  return graph.loss;
}

void PartGraphs::place(const PlacedBatch& batch) {
  inputs_.inputs_BT.copy_(batch.inputs_BT);
  inputs_.targets_BT.copy_(batch.targets_BT);
  if (batch.starts_BT.defined()) inputs_.starts_BT.copy_(batch.starts_BT);
}

// The step takes what was queued kernel by kernel; it is the same.
torch::Tensor PartGraphs::capture(Graph& graph, const Run& run) {
  const bool first = is_first();
  const std::vector<torch::Tensor> before = first ? std::vector<torch::Tensor>(parameters_.size())
                                                  : copies_of(gradients_of(parameters_));
  const torch::Tensor loss = run(inputs_);
  if (!loss.isfinite().item<bool>()) return loss;  // the guard's; such numbers equal nothing
  const std::vector<torch::Tensor> made = gradients_of(parameters_);
  const std::vector<torch::Tensor> gradients = first ? made : copies_of(made);
  if (first)
    set_gradients(before);
  else
    for (std::size_t i = 0; i < made.size(); ++i) torch::Tensor(made[i]).copy_(before[i]);
  const std::string fault = fault_of(graph, run, loss, gradients);
  if (fault.empty()) return graph.loss;
  log_warning(cat("runtime.cuda_graph is set aside, kernels are queued one by one: ", fault));
  module_ = nullptr;
  forget();
  set_gradients(gradients);
  return loss;
}

std::string PartGraphs::fault_of(Graph& graph, const Run& run, const torch::Tensor& loss,
                                 const std::vector<torch::Tensor>& gradients) {
  try {
    // Every replay shall cast weights anew: what was cast for these is old.
    for (const torch::Tensor& parameter : parameters_)
      parameter.unsafeGetTensorImpl()->bump_version();
    const bool first = is_first();
    graph.captured = capture_graph(*module_, loss.device(), first ? nullptr : first_.captured.graph.get(),
                                   [&] { graph.loss = run(inputs_); });
    if (first) gradients_ = gradients_of(parameters_);
    graph.captured.graph->replay();
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return text.substr(0, text.find('\n'));  // without a stack trace
  }
  if (!at::equal(graph.loss, loss)) return "its loss differs from that of the kernels one by one";
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (!at::equal(gradients_[i], gradients[i]))
      return cat("its gradient of parameter ", i, " differs from that of the kernels one by one");
  return {};
}

void PartGraphs::set_gradients(const std::vector<torch::Tensor>& gradients) {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    parameters_[i].mutable_grad() = gradients[i];
}

void PartGraphs::forget() {
  later_ = {};  // in the memory of the first
  first_ = {};
  gradients_.clear();
  inputs_ = {};
}

}  // namespace alibi
