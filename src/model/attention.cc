#include "model/attention.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "base/strings.h"
#include "device/exact_type.h"
#include "device/libtorch.h"
#include "model/attention_check.h"
#include "model/attention_device.h"
#include "model/attention_hashed.h"
#include "model/attention_tiled.h"

namespace alibi {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

const char* nothing(const AttentionProblem&, torch::Device) { return nullptr; }

constexpr TileSet kAvx512 = {&kAvx512Bf16Tiles, &kAvx512Fp32Tiles};
constexpr TileSet kAvx2 = {&kAvx2Bf16Tiles, &kAvx2Fp32Tiles};
constexpr TileSet kPlain = {&kPlainBf16Tiles, &kPlainFp32Tiles};

template <const TileSet& kSet>
constexpr AttentionKernel tiled(const char* name) {
  return {name,
          [](const AttentionProblem& problem, torch::Device device) {
            return tiled_attention_lacks(kSet, problem, device);
          },
          [](const AttentionInputs& inputs) { return tiled_attention_forward(kSet, inputs); },
          [](const AttentionInputs& inputs, const AttentionOutputs& outputs,
             const torch::Tensor& gradient_BHTD) {
            return tiled_attention_backward(kSet, inputs, outputs, gradient_BHTD);
          },
          &kSet};
}

const char* module_lacks(const CudaModule* module, const AttentionProblem& p) {
  if (module == nullptr) return "this machine: its library was not opened";
  const bool takes = module->takes == nullptr ||
                     module->takes(static_cast<int>(p.head_width), device_bias_kind(p));
  return takes ? nullptr : "heads of this width";
}

template <const CudaKernels& (*kOpened)(), const char* (*kLacks)(const AttentionProblem&),
          const char* (*kLeft)(const AttentionProblem&)>
constexpr AttentionKernel on_device(const char* name,
                                    bool (*before_others)(const AttentionProblem&) = nullptr) {
  return {name,
          [](const AttentionProblem& problem, torch::Device device) -> const char* {
            if (!device.is_cuda()) return "a model that is not on a CUDA device";
            const char* const lack = kLacks(problem);
            return lack != nullptr ? lack : module_lacks(kOpened().module, problem);
          },
          [](const AttentionInputs& inputs) {
            return device_attention_forward(current_queue(kOpened(), inputs.q_BHTD.device()),
                                            inputs);
          },
          [](const AttentionInputs& inputs, const AttentionOutputs& outputs,
             const torch::Tensor& gradient_BHTD) {
            return device_attention_backward(current_queue(kOpened(), inputs.q_BHTD.device()),
                                             inputs, outputs, gradient_BHTD);
          },
          /*tiles=*/nullptr,
          kOpened,
          kLeft,
          before_others};
}

// Where the reference is faster by counting: few blocks of rows, each of which walks all keys.
const char* few_of_many(const AttentionProblem& p) {
  const bool few = p.queries <= 16 && p.sequences * p.heads <= 32;
  return few && p.keys >= 32'768 && p.bias == BiasForms()
             ? "few queries of many keys are slower on it"
             : nullptr;
}

const char* in_no_order(const AttentionProblem&) {
  return "by its name, or as the fastest: its backward sums in no fixed order";
}

bool is_short(const AttentionProblem& p) { return p.queries == p.keys && p.keys <= 2048; }

constexpr std::array<AttentionKernel, 7> kKernels = {{
    {"lsh", hashed_attention_lacks, hashed_attention_forward, hashed_attention_backward},
    on_device<cuda_kernels, device_attention_lacks, few_of_many>("cuda"),
    on_device<cudnn_kernels, cudnn_attention_lacks, in_no_order>("cudnn", is_short),
    tiled<kAvx512>("avx512"),
    tiled<kAvx2>("avx2"),
    tiled<kPlain>("plain"),
    {"reference", nothing, reference_attention_forward, reference_attention_backward},
}};

// Largest difference that two orders of summation may leave, by type of the inputs.
double rounding(torch::ScalarType type) {
  if (type == torch::kDouble) return 1e-9;
  return type == torch::kFloat ? 1e-4 : 4e-2;
}

// `type`: of the numbers that the kernel worked on.
void compare(const char* what, const char* kernel, const torch::Tensor& found,
             const torch::Tensor& expected, torch::ScalarType type) {
  if (!expected.defined() || expected.numel() == 0) return;
  const torch::Tensor difference = (found.to(torch::kDouble) - expected.to(torch::kDouble)).abs();
  const double size = std::max(1.0, expected.to(torch::kDouble).abs().max().item<double>());
  const double worst = difference.max().item<double>() / size;
  if (worst <= rounding(type)) return;
  throw Error("runtime.attention.kernel",
              cat("kernel ", kernel, " differs from the reference in ", what, " by ", worst,
                  " of its largest value, at element ", difference.argmax().item<std::int64_t>()),
              "choose \"reference\" and report this line");
}

AttentionOutputs run_forward(const AttentionInputs& inputs, const AttentionKernel& kernel,
                             bool check) {
  AttentionOutputs outputs = kernel.forward(inputs);
  if (check) {
    const AttentionOutputs expected = attention_kernels().back().forward(inputs);
    compare("output", kernel.name, outputs.output_BHTD, expected.output_BHTD,
            inputs.q_BHTD.scalar_type());
    compare("log-sum-exp", kernel.name, outputs.lse_BHT, expected.lse_BHT,
            expected.lse_BHT.scalar_type());
  }
  return outputs;
}

// What backward needs beside tensors; kept alive by the node through a shared pointer.
struct Call : torch::CustomClassHolder {
  ScoreOptions options;
  const AttentionKernel* kernel = nullptr;
  bool check = false;
};

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& q,
                               const torch::Tensor& k, const torch::Tensor& v,
                               const std::optional<torch::Tensor>& /*slopes*/,
                               const std::optional<torch::Tensor>& /*table*/,
                               const std::optional<torch::Tensor>& /*terms*/,
                               const c10::intrusive_ptr<Call>& call) {
    RECORD_USER_SCOPE("alibi::attention");
    const AttentionOutputs outputs =
        run_forward({q, k, v, call->options}, *call->kernel, call->check);
    context->save_for_backward({q, k, v, outputs.output_BHTD, outputs.lse_BHT, outputs.first_BHM});
    context->saved_data["call"] = c10::IValue::make_capsule(call);
    return outputs.output_BHTD;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    RECORD_USER_SCOPE("alibi::attention");
    const auto call =
        c10::static_intrusive_pointer_cast<Call>(context->saved_data["call"].toCapsule());
    const variable_list saved = context->get_saved_variables();
    const AttentionInputs inputs{saved[0], saved[1], saved[2], call->options};
    const AttentionOutputs outputs{saved[3], saved[4], saved[5]};
    const AttentionGradients result = call->kernel->backward(inputs, outputs, gradients[0]);
    if (call->check) check_backward(inputs, outputs, gradients[0], *call, result);
    const ScoreBias& bias = result.bias;
    return {result.q_BHTD, result.k_BGSD,  result.v_BGSD,  bias.slopes_H,
            bias.table_HL, bias.terms_BHS, torch::Tensor()};
  }

 private:
  static void check_backward(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                             const torch::Tensor& gradient, const Call& call,
                             const AttentionGradients& result) {
    const AttentionGradients expected =
        attention_kernels().back().backward(inputs, outputs, gradient);
    const auto same = [&](const char* what, const torch::Tensor& found, const torch::Tensor& truth,
                          torch::ScalarType type) {
      compare(what, call.kernel->name, found, truth, type);
    };
    const auto type = inputs.q_BHTD.scalar_type();
    same("gradient of q", result.q_BHTD, expected.q_BHTD, type);
    same("gradient of k", result.k_BGSD, expected.k_BGSD, type);
    same("gradient of v", result.v_BGSD, expected.v_BGSD, type);
    // Sums over a tile are kept in fp32 at least, whatever a parameter's own type is.
    const auto sums = exact_type(inputs.q_BHTD);
    const ScoreBias &bias = result.bias, &truth = expected.bias;
    same("gradient of slopes", bias.slopes_H, truth.slopes_H, sums);
    same("gradient of the bias table", bias.table_HL, truth.table_HL, sums);
    same("gradient of bias terms", bias.terms_BHS, truth.terms_BHS, sums);
  }
};

ScalarKind scalar_kind(torch::ScalarType type) {
  if (type == torch::kDouble) return ScalarKind::kFp64;
  return type == torch::kBFloat16 ? ScalarKind::kBf16 : ScalarKind::kFp32;
}

}  // namespace

std::span<const AttentionKernel> attention_kernels() { return kKernels; }

AttentionProblem describe_problem(const AttentionInputs& inputs) {
  const ScoreOptions& o = inputs.options;
  const auto& q = inputs.q_BHTD;
  return {.sequences = q.size(0),
          .heads = q.size(1),
          .key_value_heads = inputs.k_BGSD.size(1),
          .queries = q.size(2),
          .keys = inputs.k_BGSD.size(2),
          .head_width = q.size(3),
          .scalar = scalar_kind(q.scalar_type()),
          .bias = o.bias.forms(),
          .bias_gradient = o.bias.needs_gradient(),
          .dropout = o.dropout > 0,
          .documents = o.visible.first_BT.defined(),
          .pattern = o.visible.rules != nullptr,
          .hashed = o.visible.hashed != nullptr || o.visible.groups.of_RBHS.defined(),
          .pattern_by_documents = o.visible.first_BT.defined() && o.visible.rules != nullptr &&
                                  o.visible.rules->ask_for_documents()};
}

const char* lacks_beyond_fixed_slopes(const AttentionProblem& p) {
  if (p.bias.rows) return "biases by row";
  if (p.bias.table) return "biases by a table of distances";
  if (p.bias.terms) return "biases of queries and keys";
  if (p.bias_gradient) return "learned slopes";
  if (p.hashed) return "hashed keys";
  return p.pattern ? "patterns of keys" : nullptr;
}

void check_attention_name(const std::string& choice) {
  std::vector<std::string> names = {"auto", "fastest", "check"};
  for (const AttentionKernel& kernel : attention_kernels()) names.emplace_back(kernel.name);
  if (std::find(names.begin(), names.end(), choice) != names.end()) return;
  const std::string near = nearest(choice, names);
  throw usage_error("/runtime/attention/kernel",
                    "found \"" + choice + "\", expected one of \"" + join(names, "\", \"") + "\"",
                    near.empty() ? "" : "did you mean \"" + near + "\"?");
}

namespace {

using Kernels = std::span<const AttentionKernel>;

const AttentionKernel* named(Kernels kernels, const std::string& choice) {
  const auto found = std::ranges::find_if(
      kernels, [&](const AttentionKernel& kernel) { return choice == kernel.name; });
  return found == kernels.end() ? nullptr : &*found;
}

// Why it is not to be used on this device; "": it may be.
std::string fault_at_first_use(const AttentionKernel& kernel, const AttentionProblem& problem,
                               torch::Device device, FirstUse& first_use) {
  return first_use.fault(kind_of_problem(kernel, problem, device),
                         "set runtime.attention.kernel to \"reference\"",
                         [&] { return fault_of_attention(kernel, problem, device); });
}

bool comes_first(const std::string& choice, const AttentionKernel& kernel,
                 const AttentionProblem& problem) {
  return choice == "fastest" && kernel.before_others != nullptr && kernel.before_others(problem);
}

const char* left_by(const std::string& choice, const AttentionKernel& kernel,
                    const AttentionProblem& problem) {
  if (comes_first(choice, kernel, problem)) return nullptr;
  const bool asks = choice == "auto" || choice == "fastest";
  return asks && kernel.left_by_auto != nullptr ? kernel.left_by_auto(problem) : nullptr;
}

bool takes(const AttentionKernel& kernel, const AttentionProblem& problem, torch::Device device,
           const std::string& choice, FirstUse& first_use) {
  if (!kernel.supports(problem, device)) return false;
  if (kernel.library == nullptr || choice == "check") return true;
  return left_by(choice, kernel, problem) == nullptr &&
         fault_at_first_use(kernel, problem, device, first_use).empty();
}

// Why `takes` is false of a device's kernel.
std::string why_not(const AttentionKernel& kernel, const AttentionProblem& problem,
                    torch::Device device, const std::string& choice, FirstUse& first_use) {
  if (kernel.library().module == nullptr) return kernel.library().reason;
  if (const char* const lack = kernel.lacks(problem, device)) return cat("does not support ", lack);
  if (const char* const left = left_by(choice, kernel, problem)) return left;
  return "set aside: " + fault_at_first_use(kernel, problem, device, first_use);
}

}  // namespace

bool needs_cuda(const std::string& choice) {
  const AttentionKernel* const kernel = named(kKernels, choice);
  return kernel != nullptr && kernel->library != nullptr;
}

bool gives_same_bits(const std::string& choice) {
  const AttentionKernel* const kernel = named(kKernels, choice);
  return choice != "fastest" && (kernel == nullptr || kernel->left_by_auto != in_no_order);
}

const AttentionKernel& choose_attention(const AttentionProblem& problem, torch::Device device,
                                        const std::string& choice, const AttentionList& list) {
  check_attention_name(choice);
  if (const AttentionKernel* const kernel = named(list.kernels, choice)) {
    const bool supports = kernel->supports(problem, device);
    if (takes(*kernel, problem, device, choice, *list.first_use)) return *kernel;
    if (!supports && (kernel->library == nullptr || !device.is_cuda()))
      throw usage_error("/runtime/attention/kernel",
                        cat("\"", choice, "\" does not support ", kernel->lacks(problem, device)),
                        "use \"auto\"");
    if (!supports && kernel->library().module == nullptr)
      throw usage_error("/runtime/attention/kernel",
                        "\"" + choice + "\": " + kernel->library().reason, "use \"auto\"");
  }
  const auto takes_it = [&](const AttentionKernel& kernel) {
    return takes(kernel, problem, device, choice, *list.first_use);
  };
  const auto before_all = std::ranges::find_if(list.kernels, [&](const AttentionKernel& kernel) {
    return comes_first(choice, kernel, problem) && takes_it(kernel);
  });
  if (before_all != list.kernels.end()) return *before_all;
  const auto chosen = std::ranges::find_if(list.kernels, takes_it);
  ensure(chosen != list.kernels.end(), "the last kernel takes everything");
  return *chosen;
}

std::string why_no_device_kernel(const AttentionProblem& problem, torch::Device device,
                                 const std::string& choice, const AttentionList& list) {
  const AttentionKernel* const asked = named(list.kernels, choice);
  const bool other = asked != nullptr && asked->library == nullptr;
  if (other || choose_attention(problem, device, choice, list).library != nullptr) return {};
  std::vector<std::string> reasons;
  for (const AttentionKernel& kernel : list.kernels)
    if (kernel.library != nullptr)
      reasons.push_back(
          cat(kernel.name, ": ", why_not(kernel, problem, device, choice, *list.first_use)));
  return join(reasons, "; ");
}

torch::Tensor attention(const AttentionInputs& inputs, const std::string& choice) {
  return attention(inputs,
                   choose_attention(describe_problem(inputs), inputs.q_BHTD.device(), choice),
                   choice == "check");
}

torch::Tensor attention(const AttentionInputs& inputs, const AttentionKernel& kernel, bool check) {
  check = check && &kernel != &attention_kernels().back();  // the reference has nothing beside it
  ensure(inputs.k_BGSD.size(2) >= inputs.q_BHTD.size(2), "there is a key for every query");
  if (!at::GradMode::is_enabled()) {  // a graph's node costs as much as a short query
    RECORD_USER_SCOPE("alibi::attention");
    return run_forward(inputs, kernel, check).output_BHTD;
  }
  auto call = c10::make_intrusive<Call>();
  call->options = inputs.options;
  call->kernel = &kernel;
  call->check = check;
  const ScoreBias& bias = inputs.options.bias;
  // Arguments that may need a gradient are named one by one; an absent one must not be an undefined
  // tensor.
  const auto present = [](const torch::Tensor& x) {
    return x.defined() ? std::optional(x) : std::nullopt;
  };
  return AttentionFunction::apply(inputs.q_BHTD, inputs.k_BGSD, inputs.v_BGSD,
                                  present(bias.slopes_H), present(bias.table_HL),
                                  present(bias.terms_BHS), call);
}

void check_output(const AttentionKernel& kernel, const AttentionInputs& inputs,
                  const torch::Tensor& output_BHTD) {
  compare("output", kernel.name, output_BHTD,
          attention_kernels().back().forward(inputs).output_BHTD, inputs.q_BHTD.scalar_type());
}

}  // namespace alibi
