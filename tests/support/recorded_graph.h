// What a CUDA graph does, done on the processor: a DeviceGraphModule that records LibTorch's
// operators while `work` runs and calls them again at each replay, on the same memory.
//
// As on a device, a capture leaves nothing behind: tensors made within hold NaN until a replay, and
// what was written into others is undone. Tensors made before are read where they lie and not kept
// alive: a replay throws where one is gone. Numbers that the host had at the capture are numbers of
// every replay. Kernels that LibTorch does not know are not seen: fp32, LibTorch's linear layers
// and the reference attention have none. Unlike on a device a capture may wait
// (tests/train/device_waits_test.cc sees that), and no memory of a graph is used twice.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "device/device_graph.h"
#include "device/libtorch.h"

namespace alibi {

class RecordedGraph final : public DeviceGraph {
 public:
  static const DeviceGraphModule& module() {
    static const DeviceGraphModule module{.capture = capture};
    return module;
  }
  static int captures() { return counts().first; }
  static int replays() { return counts().second; }
  static void forget_counts() { counts() = {0, 0}; }

  void replay() override {
    ++counts().second;
    const torch::NoGradGuard no_graph;
    for (const Call& call : calls_) {
      torch::jit::Stack stack;
      try {
        for (const Value& argument : call.arguments) stack.push_back(as_value(argument));
      } catch (const std::runtime_error& error) {
        throw std::runtime_error(cat(call.op.schema().name(), ": ", error.what()));
      }
      call.op.callBoxed(stack);
      for (std::size_t i = 0; i < stack.size(); ++i) write(call.results[i], stack[i]);
    }
  }

  // Of the dispatcher, for every operator while a graph is recorded.
  static void record(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const c10::impl::ExcludeDispatchKeyGuard below(c10::DispatchKey::Fake);
    recording()->add(op, *stack);
  }

 private:
  // A tensor as memory.
  struct Place {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    torch::TensorOptions options;
    std::vector<std::int64_t> sizes, strides;
    std::int64_t offset;
    torch::Tensor number = {};  // of the host, that an operator was given: handed on with the call
  };
  // Of an operator: as it is, or its tensors as memory.
  struct Value {
    c10::IValue value;
    std::vector<std::optional<Place>> places = {};
  };
  struct Call {
    c10::OperatorHandle op;
    std::vector<Value> arguments, results;
  };
  struct Undo {
    torch::Tensor written, before;
  };

  static std::pair<int, int>& counts() {
    static std::pair<int, int> counts;
    return counts;
  }
  static RecordedGraph*& recording() {
    static RecordedGraph* graph = nullptr;
    return graph;
  }

  static std::unique_ptr<DeviceGraph> capture(torch::Device, const DeviceGraph*,
                                              const std::function<void()>& work) {
    auto graph = std::make_unique<RecordedGraph>();
    ++counts().first;
    recording() = graph.get();
    try {
      const c10::impl::IncludeDispatchKeyGuard on(c10::DispatchKey::Fake);
      work();
    } catch (...) {
      recording() = nullptr;
      graph->leave_nothing();
      throw;
    }
    recording() = nullptr;
    graph->leave_nothing();
    return graph;
  }

  void add(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
    const auto& schema = op.schema();
    const std::size_t count = schema.arguments().size();
    const std::vector<c10::IValue> arguments(stack.end() - static_cast<std::ptrdiff_t>(count),
                                             stack.end());
    Call call{op, {}, {}};
    for (std::size_t i = 0; i < count; ++i) {
      const auto* alias = schema.arguments()[i].alias_info();
      for_tensors(arguments[i], [&](const torch::Tensor& tensor) {
        if (own_.contains(tensor.storage().unsafeGetStorageImpl())) return;
        held_.push_back(tensor);
        if (alias != nullptr && alias->isWrite()) undo_.push_back({tensor, copy_of(tensor)});
      });
      call.arguments.push_back(as_places(arguments[i]));
    }
    op.callBoxed(stack);
    for (const c10::IValue& result : stack) {
      for_tensors(result, [&](const torch::Tensor& tensor) {
        auto* const storage = tensor.storage().unsafeGetStorageImpl();
        bool known = own_.contains(storage);
        for (const torch::Tensor& one : held_)
          known = known || one.storage().unsafeGetStorageImpl() == storage;
        if (!known) own_.emplace(storage, tensor.storage());
      });
      call.results.push_back(as_places(result));
    }
    calls_.push_back(std::move(call));
  }

  void leave_nothing() {
    const torch::NoGradGuard no_graph;
    for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo)
      undo->written.detach().copy_(undo->before);
    undo_.clear();
    held_.clear();
    for (const Call& call : calls_)
      for (const Value& result : call.results)
        for (const auto& place : result.places)
          if (place && own_.contains(place->storage.lock().get())) spoil(tensor_at(*place));
  }

  static void spoil(torch::Tensor tensor) {
    if (tensor.is_floating_point())
      tensor.fill_(std::numeric_limits<double>::quiet_NaN());
    else if (tensor.scalar_type() != torch::kBool)
      tensor.fill_(-99);
  }

  static torch::Tensor copy_of(const torch::Tensor& tensor) {
    const torch::NoGradGuard no_graph;
    return tensor.detach().clone();
  }

  template <class Each>
  static void for_tensors(const c10::IValue& value, const Each& each) {
    if (value.isTensor() && value.toTensor().defined()) each(value.toTensor());
    if (!value.isList()) return;
    for (const c10::IValue& one : value.toListRef()) for_tensors(one, each);
  }

  static Value as_places(const c10::IValue& value) {
    bool has_tensors = false;
    for_tensors(value, [&](const torch::Tensor&) { has_tensors = true; });
    if (!has_tensors) return {value};
    Value places{{}};
    const auto add = [&](const c10::IValue& one) {
      if (!one.isTensor() || !one.toTensor().defined()) {
        places.places.emplace_back();
        return;
      }
      const torch::Tensor& t = one.toTensor();
      places.places.push_back(Place{t.storage().getWeakStorageImpl(), t.options(), t.sizes().vec(),
                                    t.strides().vec(), t.storage_offset()});
      if (t.unsafeGetTensorImpl()->is_wrapped_number()) places.places.back()->number = t;
    };
    if (value.isTensor()) {
      add(value);
    } else {
      c10::impl::GenericList empty(value.toList().elementType());
      places.value = empty;
      for (const c10::IValue& one : value.toListRef()) add(one);
    }
    return places;
  }

  static torch::Tensor tensor_at(const Place& place) {
    if (place.number.defined()) return place.number;
    auto storage = place.storage.lock();
    if (!storage) throw std::runtime_error("a graph reads a tensor that is gone");
    torch::Tensor tensor = at::empty({0}, place.options.requires_grad(false));
    tensor.set_(c10::Storage(std::move(storage)), place.offset, place.sizes, place.strides);
    return tensor;
  }

  static c10::IValue as_value(const Value& value) {
    if (value.places.empty()) return value.value;
    if (!value.value.isList()) return tensor_at(*value.places.front());
    c10::impl::GenericList list(value.value.toList().elementType());
    for (const auto& place : value.places)
      list.push_back(place ? c10::IValue(tensor_at(*place)) : c10::IValue());
    return list;
  }

  static void write(const Value& recorded, const c10::IValue& result) {
    std::size_t i = 0;
    for_tensors(result, [&](const torch::Tensor& tensor) {
      while (!recorded.places[i]) ++i;
      const torch::Tensor to = tensor_at(*recorded.places[i++]);
      if (!to.is_alias_of(tensor)) torch::Tensor(to).copy_(tensor);
    });
  }

  std::vector<Call> calls_;
  std::map<c10::StorageImpl*, c10::Storage> own_;  // memory of the graph
  std::vector<torch::Tensor> held_;                // made before, while recording
  std::vector<Undo> undo_;
};

inline void record_call(const c10::OperatorHandle& op, c10::DispatchKeySet,
                        torch::jit::Stack* stack) {
  RecordedGraph::record(op, stack);
}

TORCH_LIBRARY_IMPL(_, Fake, recorded) {
  recorded.fallback(torch::CppFunction::makeFromBoxedFunction<&record_call>());
}

}  // namespace alibi
