// Attention with a bias on its scores: one entry, a list of kernels behind it.
//
// Shapes: B sequences, H heads, G key/value heads (G divides H), T queries, S keys, D head width.
// Query i is at position S - T + i and sees keys j <= S - T + i, or fewer (VisibleKeys). No T x
// S tensor of all rows ever exists.
#pragma once

#include <span>
#include <string>

#include "base/random.h"
#include "device/first_use.h"
#include "device/tensor.h"
#include "kernels/attention.h"
#include "model/key_rules.h"
#include "model/score_bias.h"

namespace alibi {

// All that shapes the scores beside q, k and v.
struct ScoreOptions {
  double scale = 1.0;  // on q.k; the bias is not scaled
  ScoreBias bias;
  VisibleKeys visible;
  SkipRule skip = SkipRule::kEpsilon;  // for kernels that can leave out blocks
  double dropout = 0;                  // on probabilities
  // Element (b, h, i, j) of the mask is element j of fill_dropout's row (b H + h) T + i.
  RandomKey dropout_key;
};

struct AttentionInputs {
  torch::Tensor q_BHTD, k_BGSD, v_BGSD;
  ScoreOptions options;
};

struct AttentionOutputs {
  torch::Tensor output_BHTD;  // q's type
  torch::Tensor lse_BHT;      // log of each row's sum of exponentials, fp32 (fp64 for fp64)
  // Of a device's kernels: what their backward may leave out; else undefined.
  torch::Tensor first_BHM = {};
};

struct AttentionGradients {
  torch::Tensor q_BHTD, k_BGSD, v_BGSD;
  ScoreBias bias = {};  // undefined but for forms that need a gradient
};

struct CudaKernels;  // device/cuda_library.h
struct TileSet;      // model/attention_tiled.h

// One way to compute it. `forward` and `backward` take what they lack nothing for.
struct AttentionKernel {
  const char* name;
  // The first feature of the problem that the kernel does not support, for a message; null: it
  // supports all.
  const char* (*lacks)(const AttentionProblem& problem, torch::Device device);
  AttentionOutputs (*forward)(const AttentionInputs& inputs);
  AttentionGradients (*backward)(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                                 const torch::Tensor& gradient_BHTD);
  const TileSet* tiles = nullptr;  // of a tiled kernel
  // Of a CUDA device's kernels: where they are. What these do not take goes to others there.
  const CudaKernels& (*library)() = nullptr;
  // Of a device's kernels: why "auto" leaves a problem that it supports to those after it in the
  // list, for a message; null: it does not.
  const char* (*left_by_auto)(const AttentionProblem& problem) = nullptr;
  // Whether "fastest" takes it before all others; null: it does not.
  bool (*before_others)(const AttentionProblem& problem) = nullptr;

  bool supports(const AttentionProblem& problem, torch::Device device) const {
    return lacks(problem, device) == nullptr;
  }
};

// Fastest first, reference last.
std::span<const AttentionKernel> attention_kernels();

AttentionProblem describe_problem(const AttentionInputs& inputs);

// The same for kernels that support linear biases without a gradient, order and documents only.
const char* lacks_beyond_fixed_slopes(const AttentionProblem& problem);

// What there is to choose from, the last of which takes everything, and what was found out about
// those of a device.
struct AttentionList {
  std::span<const AttentionKernel> kernels = attention_kernels();
  FirstUse* first_use = &alibi::first_use();
};

// `choice`: "auto" or "check" (first that supports the problem), "fastest" (below) or a kernel's
// name. Throws Error when the named kernel does not exist or does not support the problem; one of a
// CUDA device's leaves that to another one of them or to the reference, where it is there at all.
//
// A device's kernel must also agree with the reference at the first use of its kind there
// (model/attention_check.h), whether "auto" takes it or its name; "check" compares each call. On a
// device "auto" takes, first row that fits:
//
//   | problem                                                      | kernel    |
//   |--------------------------------------------------------------|-----------|
//   | up to 16 queries of 32,768 keys or more, without a bias, up  | reference |
//   | to 32 heads of all sequences                                 |           |
//   | bf16; heads of 8 to 256 numbers in steps of 8; no bias,      | cuda      |
//   | slopes, a table or terms; order and documents; any length;   |           |
//   | a pattern not beside terms, nor with global keys of packed   |           |
//   | documents; before its queries no keys, or a multiple of 64,  |           |
//   | and 64 queries or more then                                  |           |
//   | all else: fp32, dropout, hashed keys, other biases           | reference |
//
// On an H100 (tests/bench/RESULTS.md) the cuda kernel takes less than a twentieth of the
// reference's time at 1k and 4k, where that was measured. The first row is by counting, not
// measured: each of few blocks of rows walks all keys alone. "fastest" takes cuDNN for up to 2,048
// queries of as many keys where it supports the problem, else what "auto" takes: forward and
// backward together take an eighth less than the cuda kernel's time at 1k, and a quarter more at
// 4k (12 heads of 64; the limit between is a guess). "auto" does not: cuDNN's backward sums in no
// fixed order, so a run would not give the same bits twice. LibTorch's attention is not in the
// list: it takes a bias as a mask of T x S numbers.
const AttentionKernel& choose_attention(const AttentionProblem& problem, torch::Device device,
                                        const std::string& choice, const AttentionList& list = {});

// Of a CUDA device: why its kernels did not get a problem that choose_attention gives to another;
// "" where one of them did, and where a name asked for another.
std::string why_no_device_kernel(const AttentionProblem& problem, torch::Device device,
                                 const std::string& choice, const AttentionList& list = {});

// Whether it names a kernel that only a CUDA device has.
bool needs_cuda(const std::string& choice);

// Whether what it chooses gives the same bits for the same numbers twice.
bool gives_same_bits(const std::string& choice);

// Throws a usage Error unless `choice` is "auto", "fastest", "check" or a kernel's name.
void check_attention_name(const std::string& choice);

// Differentiable in q, k, v and the bias. "check" also runs the reference and throws Error
// at the first output that differs by more than rounding.
torch::Tensor attention(const AttentionInputs& inputs, const std::string& choice = "auto");

// The same on a given kernel, which must outlive the result's graph; `check` as above.
torch::Tensor attention(const AttentionInputs& inputs, const AttentionKernel& kernel, bool check);

// What "check" asks of an output that a kernel has made of these inputs in another way.
void check_output(const AttentionKernel& kernel, const AttentionInputs& inputs,
                  const torch::Tensor& output_BHTD);

// The reference implementation: plain formulas on LibTorch operators, in chunks of rows, of which
// the scores take at most so many bytes (on the processor what its cache holds).
inline constexpr std::int64_t kReferenceChunkBytes = 8 << 20,
                              kReferenceDeviceChunkBytes = 512 << 20;
AttentionOutputs reference_attention_forward(const AttentionInputs& inputs);
AttentionGradients reference_attention_backward(const AttentionInputs& inputs,
                                                const AttentionOutputs& outputs,
                                                const torch::Tensor& gradient_BHTD);

}  // namespace alibi
