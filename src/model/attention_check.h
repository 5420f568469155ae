// A device's attention kernel against the reference, before its first use (device/first_use.h).
#pragma once

#include <string>

#include "model/attention.h"

namespace alibi {

// Of problems that are answered alike: same type, head width, forms of bias, whether the bias is
// learned, and whether there is a pattern. Forward and backward are one: a pass without a graph may
// be run again with one (runtime.recompute), and both must be of one kernel.
std::string kind_of_problem(const AttentionKernel& kernel, const AttentionProblem& problem,
                            torch::Device device);

// What of `kernel` differs from the reference on two small problems of this kind on this device,
// for which this waits; "": nothing. They have several blocks of rows and keys, some of them short
// and, with a bias, some left out; heads that share keys; with a pattern a rule a head; and, where
// the kernel takes them, documents and keys before the first query.
//
// The reference computes in fp64 what the kernel is given in bf16. How far a number may be from its
// own follows from the roundings to bf16 on its way: of the weights and the result for outputs and
// gradients of v; of a row's output in its delta, the score gradient and the result for all other
// gradients, those of a bias in fp32. Each is of up to 2^-8 of what it rounds, so of a variance of
// 2^-16 / 3 of its square, and independent of the others: 6 standard deviations of their sum are
// allowed, and a thousandth of the largest such bound for sums in fp32 and blocks left out. The
// log-sum-exp is fp32, from approximate powers and logarithms: 1e-4.
std::string fault_of_attention(const AttentionKernel& kernel, const AttentionProblem& problem,
                               torch::Device device);

}  // namespace alibi
