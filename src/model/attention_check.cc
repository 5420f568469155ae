#include "model/attention_check.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "base/strings.h"
#include "device/first_use.h"
#include "device/libtorch.h"
#include "kernels/device_attention.h"

namespace alibi {
namespace {

constexpr std::int64_t kSequences = 2, kHeads = 4, kGroups = 2, kDistances = 150;
// attention_check.h says why. A rounding to bf16 is of up to 2^-8, evenly spread.
constexpr double kRounding = 0x1p-8 / 1.7320508, kDeviations = 6, kFloor = 1e-3, kLogs = 1e-4;

struct Example {
  std::int64_t queries, keys;
  bool documents;
};
constexpr Example kExamples[] = {{.queries = 200, .keys = 200, .documents = false},
                                 {.queries = 135, .keys = 200, .documents = true}};

// Drawn by name: the generators of a run are left alone.
torch::Tensor normal(const char* name, at::IntArrayRef sizes) {
  torch::Tensor x = torch::empty(sizes, torch::TensorOptions(torch::kFloat));
  fill_normal(RandomKey{1}.with("attention check").with(name), 1,
              {x.data_ptr<float>(), static_cast<std::size_t>(x.numel())});
  return x;
}

// Falls far enough over 200 keys for some blocks to weigh nothing.
ScoreBias make_bias(const AttentionProblem& problem, std::int64_t keys) {
  ScoreBias bias;
  const auto whole = [](std::int64_t size) { return torch::arange(size, torch::kFloat); };
  if (problem.bias.slopes) bias.slopes_H = torch::exp2(-2 * whole(kHeads));
  if (problem.bias.table)
    bias.table_HL = normal("table", {kHeads, kDistances}) - 0.5 * whole(kDistances);
  if (problem.bias.terms)
    bias.terms_BHS =
        (normal("terms", {kSequences, kHeads, keys}).to(torch::kDouble).abs() * -0.5).cumsum(2);
  return bias;
}

// A rule a head. A query of a document sees global keys of its own, which kernels may lack.
std::shared_ptr<const KeyRules> make_rules(const Example& example) {
  const std::int64_t global = example.documents ? 0 : 5;
  return std::make_shared<const KeyRules>(std::vector<KeyParts>{{.window = 70, .global = global},
                                                                {.window = 20, .stride = 45},
                                                                {.segment = 64},
                                                                {.window = 9, .dilation = 11}});
}

torch::Tensor starts_of_documents(const Example& example) {
  constexpr std::int64_t kDocument = 90;
  const torch::Tensor place_T = torch::arange(example.keys - example.queries, example.keys);
  return torch::stack({place_T - place_T % kDocument, place_T - place_T % (kDocument + 40)});
}

AttentionInputs make_inputs(const AttentionProblem& problem, const Example& example) {
  const std::int64_t width = problem.head_width;
  const auto bf16 = [&](const char* name, std::int64_t heads, std::int64_t length) {
    return normal(name, {kSequences, heads, length, width}).to(torch::kBFloat16);
  };
  AttentionInputs inputs{bf16("q", kHeads, example.queries), bf16("k", kGroups, example.keys),
                         bf16("v", kGroups, example.keys), ScoreOptions{}};
  inputs.options.scale = 1.5 / std::sqrt(static_cast<double>(width));
  inputs.options.bias = make_bias(problem, example.keys);
  if (example.documents) inputs.options.visible.first_BT = starts_of_documents(example);
  if (problem.pattern) inputs.options.visible.rules = make_rules(example);
  return inputs;
}

// In `type` on `device`, with a bias that is learned or not.
AttentionInputs moved(AttentionInputs inputs, torch::ScalarType type, torch::Device device,
                      bool learned) {
  for (torch::Tensor* x : {&inputs.q_BHTD, &inputs.k_BGSD, &inputs.v_BGSD})
    *x = x->to(device, type);
  ScoreBias& bias = inputs.options.bias;
  for (torch::Tensor* x : {&bias.slopes_H, &bias.table_HL, &bias.terms_BHS})
    if (x->defined()) *x = x->detach().clone().to(device).requires_grad_(learned);
  torch::Tensor& first_BT = inputs.options.visible.first_BT;
  if (first_BT.defined()) first_BT = first_BT.to(device);
  return inputs;
}

// Variances of what rounding to bf16 leaves, in units of a relative rounding's own: of a sum, the
// sum of its terms' squares and, where it is rounded itself, its own square.
struct Variances {
  torch::Tensor output, q, k, v, slopes, table, terms;
};

// All in fp64: the inputs, and what the reference makes of them.
Variances variances_of(const AttentionInputs& inputs, const torch::Tensor& do_BHTD,
                       const AttentionOutputs& outputs, const AttentionGradients& gradients) {
  const std::int64_t keys = inputs.k_BGSD.size(2), queries = inputs.q_BHTD.size(2);
  AttentionInputs of_weights = inputs;  // the output for these values is the weights
  of_weights.v_BGSD = torch::eye(keys, torch::kDouble).expand({kSequences, kGroups, keys, keys});
  const torch::Tensor p_BHTS = reference_attention_forward(of_weights).output_BHTD;
  const auto of_heads = [](const torch::Tensor& x_BGSD) {
    return x_BGSD.repeat_interleave(kHeads / kGroups, 1);
  };
  const auto of_groups = [](const torch::Tensor& x_BHSD) {
    return x_BHSD.unflatten(1, {kGroups, kHeads / kGroups}).sum(2);
  };
  const torch::Tensor k_BHSD = of_heads(inputs.k_BGSD), v_BHSD = of_heads(inputs.v_BGSD);
  const torch::Tensor dp_BHTS = do_BHTD.matmul(v_BHSD.transpose(2, 3));
  const torch::Tensor ds_BHTS = p_BHTS * (dp_BHTS - (p_BHTS * dp_BHTS).sum(3, true));
  Variances all;
  all.output = p_BHTS.square().matmul(v_BHSD.square()) + outputs.output_BHTD.square();
  all.v = of_groups(p_BHTS.square().transpose(2, 3).matmul(do_BHTD.square())) +
          gradients.v_BGSD.square();
  // A row's delta is one number for all its keys; beside it each score gradient is rounded.
  const torch::Tensor delta_BHT1 = (do_BHTD.square() * all.output).sum(3, true);
  const torch::Tensor each_BHTS = p_BHTS.square() * delta_BHT1 + ds_BHTS.square();
  const double scale = inputs.options.scale * inputs.options.scale;
  all.q = scale * (p_BHTS.matmul(k_BHSD).square() * delta_BHT1 +
                   ds_BHTS.square().matmul(k_BHSD.square())) +
          gradients.q_BHTD.square();
  all.k = scale * of_groups(each_BHTS.transpose(2, 3).matmul(inputs.q_BHTD.square())) +
          gradients.k_BGSD.square();
  const torch::Tensor distance_TS =
      (torch::arange(keys - queries, keys).unsqueeze(1) - torch::arange(keys)).clamp_min(0);
  all.slopes = ((p_BHTS * distance_TS).sum(3).square() * delta_BHT1.squeeze(3) +
                (ds_BHTS * distance_TS).square().sum(3))
                   .sum(at::IntArrayRef{0, 2});
  all.table = torch::zeros({kHeads, kDistances}, torch::kDouble)
                  .index_add_(1, distance_TS.clamp_max(kDistances - 1).flatten(),
                              each_BHTS.sum(0).flatten(1));
  all.terms = each_BHTS.sum(2);
  all.terms.narrow(2, keys - queries, queries)
      .add_((p_BHTS.sum(3).square() * delta_BHT1.squeeze(3)) + ds_BHTS.square().sum(3));
  return all;
}

std::string fault_of_example(const AttentionKernel& kernel, const AttentionInputs& inputs,
                             torch::Device device, bool learned) {
  const torch::Tensor gradient_BHTD =
      normal("gradient", inputs.q_BHTD.sizes()).to(torch::kBFloat16);
  const AttentionInputs given = moved(inputs, torch::kBFloat16, device, learned),
                        exact = moved(inputs, torch::kDouble, torch::kCPU, learned);
  const AttentionOutputs found = kernel.forward(given),
                         expected = reference_attention_forward(exact);
  const torch::Tensor exact_BHTD = gradient_BHTD.to(torch::kDouble);
  const AttentionGradients gradients = kernel.backward(given, found, gradient_BHTD.to(device)),
                           truth = reference_attention_backward(exact, expected, exact_BHTD);
  const Variances variances = variances_of(exact, exact_BHTD, expected, truth);
  std::string fault;
  const auto compare = [&](const char* what, const torch::Tensor& one, const torch::Tensor& other,
                           const torch::Tensor& variance) {
    if (!fault.empty() || !other.defined()) return;
    if (!one.defined()) {
      fault = cat(what, " is missing");
      return;
    }
    const torch::Tensor allowed = kDeviations * kRounding * variance.sqrt();
    fault = too_far(what, one, other.to(torch::kDouble), allowed + kFloor * allowed.max());
  };
  compare("the output", found.output_BHTD, expected.output_BHTD, variances.output);
  if (fault.empty())
    fault = too_far("the log-sum-exp", found.lse_BHT, expected.lse_BHT, torch::tensor(kLogs));
  compare("the gradient of q", gradients.q_BHTD, truth.q_BHTD, variances.q);
  compare("the gradient of k", gradients.k_BGSD, truth.k_BGSD, variances.k);
  compare("the gradient of v", gradients.v_BGSD, truth.v_BGSD, variances.v);
  const ScoreBias &bias = gradients.bias, &right = truth.bias;
  compare("the gradient of slopes", bias.slopes_H, right.slopes_H, variances.slopes);
  compare("the gradient of the bias table", bias.table_HL, right.table_HL, variances.table);
  compare("the gradient of bias terms", bias.terms_BHS, right.terms_BHS, variances.terms);
  return fault;
}

}  // namespace

std::string kind_of_problem(const AttentionKernel& kernel, const AttentionProblem& problem,
                            torch::Device device) {
  const BiasForms& b = problem.bias;
  std::string bias =
      cat(b.slopes ? " slopes" : "", b.table ? " table" : "", b.terms ? " terms" : "");
  if (bias.empty()) bias = " none";
  return cat("the attention kernel ", kernel.name, " (bf16, heads of ", problem.head_width,
             ", bias:", bias, problem.bias_gradient ? ", learned" : "",
             problem.pattern ? ", pattern" : "", ") on ", device.str());
}

std::string fault_of_attention(const AttentionKernel& kernel, const AttentionProblem& problem,
                               torch::Device device) {
  const torch::NoGradGuard guard;
  bool some = false;
  for (Example example : kExamples) {
    if (problem.pattern)  // kernels may want whole blocks of keys before the first query
      example.queries = example.keys - (example.keys - example.queries) / kKeyBlock * kKeyBlock;
    const AttentionInputs inputs = make_inputs(problem, example);
    AttentionProblem small = describe_problem(inputs);
    small.bias_gradient = problem.bias_gradient;
    if (!kernel.supports(small, device)) continue;
    some = true;
    const std::string fault = fault_of_example(kernel, inputs, device, problem.bias_gradient);
    if (!fault.empty())
      return cat(fault, ", on ", example.queries, " queries of ", example.keys, " keys",
                 example.documents ? " in documents" : "");
  }
  return some ? "" : "it takes no problem of this kind that is small";
}

}  // namespace alibi
