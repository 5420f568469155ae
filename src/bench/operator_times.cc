#include "bench/operator_times.h"

#include <ATen/record_function.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "device/libtorch.h"

namespace alibi {
namespace {

// LibTorch's callbacks carry no pointer of ours: these two are how they find the collector.
OperatorTimes* collector = nullptr;

struct Open {
  std::string name, part;
  double start;
  double inner = 0;  // seconds of operators it called
};
thread_local std::vector<Open> open_records;

const std::pair<std::string_view, const char*> kParts[] = {{"LinearLayer", "linear layers"},
                                                           {"PackedMlp", "linear layers"},
                                                           {"ForkNorm", "norms"},
                                                           {"linear", "linear layers"},
                                                           {"mm", "linear layers"},
                                                           {"matmul", "linear layers"},
                                                           {"layer_norm", "norms"},
                                                           {"LayerNorm", "norms"},
                                                           {"gelu", "activation"},
                                                           {"Gelu", "activation"},
                                                           {"adamw", "optimizer"},
                                                           {"embedding", "embedding"},
                                                           {"copy", "copies and casts"},
                                                           {"::to", "copies and casts"},
                                                           {"cat", "copies and casts"},
                                                           {"add", "sums"},
                                                           {"norm", "gradient norm, clip"},
                                                           {"mul_", "gradient norm, clip"}};

constexpr std::string_view kOurs = "alibi::";

// What runs inside one of our scopes belongs to the outermost, however deep: the head's products
// are loss.
bool inside_ours() { return !open_records.empty() && open_records.back().name.starts_with(kOurs); }

std::string part_of(const std::string& name) {
  if (inside_ours()) return open_records.back().part;
  if (name.starts_with(kOurs)) return name.substr(kOurs.size());
  for (const auto& [word, part] : kParts)
    if (name.find(word) != std::string::npos) return part;
  return open_records.empty() ? "other" : open_records.back().part;
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  const std::string name = function.name();
  std::string part = part_of(name);
  open_records.push_back(
      {inside_ours() ? open_records.back().name : name, std::move(part), seconds_now()});
  return nullptr;
}

void end(const at::RecordFunction&, at::ObserverContext*) {
  if (open_records.empty()) return;
  const Open last = std::move(open_records.back());
  open_records.pop_back();
  const double seconds = seconds_now() - last.start;
  if (!open_records.empty()) open_records.back().inner += seconds;
  if (collector != nullptr) collector->add(last.part, seconds - last.inner);
}

}  // namespace

OperatorTimes::OperatorTimes() {
  ensure(collector == nullptr, "one collector at a time");
  collector = this;
  // Of this thread only, which runs forward and backward: the threads that share an operator's work
  // out make tensors of their own, inside its time.
  handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(begin, end)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                   at::RecordScope::USER_SCOPE}));
}

OperatorTimes::~OperatorTimes() {
  at::removeCallback(handle_);
  collector = nullptr;
}

}  // namespace alibi
