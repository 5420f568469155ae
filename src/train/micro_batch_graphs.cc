#include "train/micro_batch_graphs.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/strings.h"
#include "device/libtorch.h"
#include "model/attention.h"
#include "train/optimizer/optimizer.h"

namespace alibi {
namespace {

std::vector<torch::Tensor> copies_of(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> copies;
  for (const torch::Tensor& tensor : tensors) copies.push_back(tensor.clone());
  return copies;
}

bool same_bits(const torch::Tensor& a, const torch::Tensor& b) {
  const auto bits = [](const torch::Tensor& x) {
    return x.contiguous().view(x.element_size() == 8 ? torch::kLong : torch::kInt);
  };
  return at::equal(bits(a), bits(b));
}

}  // namespace

PlacedBatch PlacedBatch::rows(std::int64_t first, std::int64_t count) const {
  const auto some = [&](const torch::Tensor& whole_BT) {
    return whole_BT.defined() ? whole_BT.narrow(0, first, count) : whole_BT;
  };
  return {some(inputs_BT), some(targets_BT), some(starts_BT)};
}

std::string why_no_graphs(const Config& config) {
  if (!config.runtime.cuda_graph) return "it is not asked for";
  if (has_dropout(config.model)) return "dropout has other masks in every step";
  if (lanes_of(config.batch) > 1) return "batch.lanes keeps gradients of several lanes";
  if (!config.batch.length_mixture.empty()) return "batch.length_mixture changes shapes";
  const std::string& kernel = config.runtime.attention.kernel;
  const bool reads = kernel == "check";
  if (reads || !gives_same_bits(kernel))
    return cat("runtime.attention.kernel \"", kernel, "\" ",
               reads ? "reads numbers" : "does not give the same bits twice");
  return {};
}

DeviceGraphs graphs_for(const Config& config, torch::Device device) {
  if (const std::string why = why_no_graphs(config); !why.empty()) return {nullptr, why};
  if (!device.is_cuda()) return {nullptr, "the run is not on a CUDA device"};
  return device_graphs();
}

std::string graphs_without_effect(const Config& config, const DeviceGraphs& graphs) {
  const bool lacks = config.runtime.cuda_graph && graphs.module == nullptr;
  return lacks ? "runtime.cuda_graph is without effect: " + graphs.reason : "";
}

torch::Tensor MicroBatchGraphs::run(const PlacedBatch& batch, bool repeatable, const Work& work) {
  if (module_ == nullptr || !repeatable) return work(batch);
  if (!inputs_.inputs_BT.defined() || batch.inputs_BT.sizes() != inputs_.inputs_BT.sizes()) {
    forget();
    inputs_ = {batch.inputs_BT.clone(), batch.targets_BT.clone(),
               batch.starts_BT.defined() ? batch.starts_BT.clone() : torch::Tensor()};
  } else {
    inputs_.inputs_BT.copy_(batch.inputs_BT);
    inputs_.targets_BT.copy_(batch.targets_BT);
    if (batch.starts_BT.defined()) inputs_.starts_BT.copy_(batch.starts_BT);
  }
  const bool first = !parameters_.front().grad().defined();
  ensure(first || parameters_.front().grad().is_same(gradients_.front()),
         "later micro batches add to the gradients of the first's graph");
  Graph& graph = first ? first_ : later_;
  if (!graph.captured.graph) return capture(first, work);
  if (first) set_gradients(gradients_);
  graph.captured.graph->replay();
  return graph.loss;
}

// The loss and gradients of the graph, or, where it is at fault, of what was queued before it.
torch::Tensor MicroBatchGraphs::capture(bool first, const Work& work) {
  const std::vector<torch::Tensor> before =
      first ? std::vector<torch::Tensor>(parameters_.size()) : copies_of(gradients_of(parameters_));
  const torch::Tensor loss = work(inputs_);
  const std::vector<torch::Tensor> made = gradients_of(parameters_);
  const std::vector<torch::Tensor> gradients = first ? made : copies_of(made);
  if (first)
    set_gradients(before);
  else
    for (std::size_t i = 0; i < made.size(); ++i) torch::Tensor(made[i]).copy_(before[i]);
  const std::string fault = fault_of_capture(first, work, loss, gradients);
  if (fault.empty()) return first ? first_.loss : later_.loss;
  set_aside(fault);
  set_gradients(gradients);
  return loss;
}

std::string MicroBatchGraphs::fault_of_capture(bool first, const Work& work,
                                               const torch::Tensor& loss,
                                               const std::vector<torch::Tensor>& gradients) {
  Graph& graph = first ? first_ : later_;
  try {
    if (first) make_weights_new();  // each step's first replay shall cast them anew, for all
    const DeviceGraph* const before = first ? nullptr : first_.captured.graph.get();
    graph.captured =
        capture_graph(*module_, loss.device(), before, [&] { graph.loss = work(inputs_); });
    if (first) gradients_ = gradients_of(parameters_);
    graph.captured.graph->replay();
    if (!same_bits(graph.loss, loss)) return "its loss differs from that of the kernels one by one";
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (!same_bits(gradients_[i], gradients[i]))
        return cat("its gradient of parameter ", i, " differs from that of the kernels one by one");
  } catch (const std::exception& error) {
    return first_line(error.what());
  }
  return {};
}

bool MicroBatchGraphs::set_aside(const std::string& reason) {
  if (module_ == nullptr) return false;
  log_warning(cat("runtime.cuda_graph is set aside, kernels are queued one by one: ", reason));
  module_ = nullptr;
  forget();
  make_weights_new();  // what was cast for a graph that did not run holds nothing
  return true;
}

void MicroBatchGraphs::make_weights_new() {
  for (const torch::Tensor& parameter : parameters_) mark_changed(parameter);
}

void MicroBatchGraphs::set_gradients(const std::vector<torch::Tensor>& gradients) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].mutable_grad() = gradients[i];
}

void MicroBatchGraphs::forget() {
  later_ = {};  // in the memory of the first
  first_ = {};
  gradients_.clear();
  inputs_ = {};
}

}  // namespace alibi
