#include "model/attention_device.h"

#include <cstdint>
#include <limits>
#include <stdexcept>

#include "base/error.h"
#include "base/strings.h"
#include "device/device.h"
#include "device/libtorch.h"
#include "kernels/attention_skip.h"
#include "model/attention_rows.h"

namespace alibi {
namespace {

constexpr std::int64_t kMostGridRows = 65'535;  // blocks of a grid in y and z
constexpr std::int64_t kAligned = 8;            // numbers of bf16 in 16 bytes, which loads take

int number(std::int64_t size) { return static_cast<int>(size); }

// What a call works on, kept alive until it is queued.
struct Call {
  DeviceAttention a;
  torch::Tensor q, k, v, slopes, starts, reach, workspace;
};

torch::Tensor aligned_rows(const torch::Tensor& x_BHTD) {
  bool fits = x_BHTD.stride(3) == 1 &&
              reinterpret_cast<std::uintptr_t>(x_BHTD.data_ptr()) % (2 * kAligned) == 0;
  for (int d = 0; d < 3; ++d) fits = fits && x_BHTD.stride(d) % kAligned == 0;
  return fits ? x_BHTD : x_BHTD.clone(torch::MemoryFormat::Contiguous);
}

DeviceRows device_rows(const torch::Tensor& x_BHTD) { return head_rows<std::uint16_t>(x_BHTD); }

void expect_queued(const DeviceQueue& queue, int code) {
  if (code == 0) return;
  const std::string text = queue.module->error_text(code);
  // What is wrong with the device may come from any work before this.
  if (queue.module->is_own != nullptr && !queue.module->is_own(code))
    throw std::runtime_error("CUDA error: " + text);
  throw Error("CUDA device", "an attention kernel: " + text,
              "set runtime.attention.kernel to \"reference\", and report this line");
}

Call make_call(const CudaModule& module, const AttentionInputs& inputs) {
  const ScoreOptions& o = inputs.options;
  Call call{.a = {},
            .q = aligned_rows(inputs.q_BHTD),
            .k = aligned_rows(inputs.k_BGSD),
            .v = aligned_rows(inputs.v_BGSD),
            .slopes = {},
            .starts = {},
            .reach = {},
            .workspace = {}};
  DeviceAttention& a = call.a;
  a.sequences = number(call.q.size(0));
  a.heads = number(call.q.size(1));
  a.key_value_heads = number(call.k.size(1));
  a.queries = number(call.q.size(2));
  a.keys = number(call.k.size(2));
  a.width = number(call.q.size(3));
  a.scale = static_cast<float>(o.scale * module.score_unit);
  if (o.bias.slopes_H.defined()) {
    const torch::Tensor slopes = o.bias.slopes_H.detach().to(call.q.device(), torch::kFloat);
    call.slopes = (slopes * module.score_unit).contiguous();
    a.slopes_H = call.slopes.data_ptr<float>();
    if (module.forward_rows != nullptr) a.threshold = skip_threshold(o.skip, a.keys);
  }
  if (o.visible.first_BT.defined()) {
    call.starts = o.visible.first_BT.contiguous();
    a.start_BT = call.starts.data_ptr<std::int64_t>();
  }
  a.q = device_rows(call.q);
  a.k = device_rows(call.k);
  a.v = device_rows(call.v);
  return call;
}

// What the forward left out, where anything may be.
torch::Tensor first_blocks(const DeviceQueue& queue, DeviceAttention& a, torch::Device device) {
  if (a.threshold < 0) return {};
  a.first_rows = queue.module->forward_rows(a.width);
  const int blocks = (a.queries + a.first_rows - 1) / a.first_rows;
  return torch::empty({a.sequences, a.heads, blocks},
                      torch::TensorOptions(torch::kInt).device(device));
}

void add_workspace(const DeviceQueue& queue, Call& call, bool backward) {
  if (queue.module->workspace == nullptr) return;
  const std::int64_t bytes = queue.module->workspace(call.a, backward);
  expect_queued(queue, bytes < 0 ? 1 : 0);
  call.workspace =
      torch::empty({bytes}, torch::TensorOptions(torch::kByte).device(call.q.device()));
  call.a.workspace = call.workspace.data_ptr();
}

}  // namespace

DeviceQueue current_queue(const CudaKernels& kernels, torch::Device device) {
  if (kernels.module == nullptr) throw Error("CUDA kernels", kernels.reason);
  return {kernels.module, current_stream(device)};
}

const char* device_attention_lacks(const AttentionProblem& p) {
  if (p.scalar != ScalarKind::kBf16) return "precisions other than bf16";
  if (p.dropout) return "dropout";
  if (const char* const lack = lacks_beyond_fixed_slopes(p)) return lack;
  if (p.head_width % 8 != 0 || p.head_width > 256) return "heads of this width";
  const bool fits = p.sequences <= kMostGridRows && p.heads <= kMostGridRows &&
                    p.keys <= std::numeric_limits<int>::max() / 2;
  return fits ? nullptr : "so many sequences, heads or keys";
}

const char* cudnn_attention_lacks(const AttentionProblem& p) {
  if (const char* const lack = device_attention_lacks(p)) return lack;
  if (p.documents) return "packed documents";
  // Its backward refuses sequences of one token.
  return p.queries == p.keys && p.queries > 1 ? nullptr : "queries that are not the keys' own";
}

AttentionOutputs device_attention_forward(const DeviceQueue& queue, const AttentionInputs& inputs) {
  Call call = make_call(*queue.module, inputs);
  DeviceAttention& a = call.a;
  const torch::Device device = call.q.device();
  const auto fp32 = torch::TensorOptions(torch::kFloat).device(device);
  AttentionOutputs outputs{rows_like(inputs.q_BHTD),
                           torch::empty({a.sequences, a.heads, a.queries}, fp32),
                           first_blocks(queue, a, device)};
  a.output = device_rows(outputs.output_BHTD);
  a.lse_BHT = outputs.lse_BHT.data_ptr<float>();
  if (outputs.first_BHM.defined()) {
    a.first_BHM = outputs.first_BHM.data_ptr<std::int32_t>();
    call.reach = torch::empty({a.sequences, a.key_value_heads, a.key_blocks()}, fp32);
    a.reach_BGN = call.reach.data_ptr<float>();
    expect_queued(queue, queue.module->key_reach(a, call.reach.data_ptr<float>(), queue.stream));
  }
  add_workspace(queue, call, /*backward=*/false);
  expect_queued(queue, queue.module->forward(a, queue.stream));
  return outputs;
}

AttentionGradients device_attention_backward(const DeviceQueue& queue,
                                             const AttentionInputs& inputs,
                                             const AttentionOutputs& outputs,
                                             const torch::Tensor& gradient_BHTD) {
  Call call = make_call(*queue.module, inputs);
  DeviceAttention& a = call.a;
  const torch::Tensor output = aligned_rows(outputs.output_BHTD);
  const torch::Tensor gradient = aligned_rows(gradient_BHTD), lse = outputs.lse_BHT.contiguous();
  const torch::Tensor delta = torch::empty_like(lse);
  AttentionGradients gradients = empty_gradients(inputs);
  a.output = device_rows(output);
  a.output_gradient = device_rows(gradient);
  a.lse_BHT = lse.data_ptr<float>();
  a.delta_BHT = delta.data_ptr<float>();
  a.q_gradient = device_rows(gradients.q_BHTD);
  a.k_gradient = device_rows(gradients.k_BGSD);
  a.v_gradient = device_rows(gradients.v_BGSD);
  if (outputs.first_BHM.defined()) {
    a.first_BHM = outputs.first_BHM.data_ptr<std::int32_t>();
    a.first_rows = queue.module->forward_rows(a.width);
  }
  add_workspace(queue, call, /*backward=*/true);
  expect_queued(queue, queue.module->backward(a, queue.stream));
  return gradients;
}

}  // namespace alibi
