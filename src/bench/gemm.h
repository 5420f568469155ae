// alibi bench gemm: the matrix products of one model's training step, each at its own shape.
#pragma once

#include <string>
#include <vector>

#include "bench/record.h"
#include "config/config.h"
#include "device/tensor.h"

namespace alibi {

struct ModelProduct {
  std::string name;  // "qkv"
  std::int64_t outputs, inputs;
  double count;  // in a step
};

std::vector<ModelProduct> model_products(const ModelConfig& model, std::int64_t vocabulary);

struct GemmBench {
  ModelConfig model;
  std::int64_t vocabulary = 8192;
  std::int64_t tokens = 4096;
  torch::ScalarType type = torch::kBFloat16;
  Rounds rounds;
};

// Each product forward (x w^T), its input's gradient (g w) and its weight's (g^T x), as LibTorch
// computes them, and on packed weights where a step does so.
BenchRecord bench_gemm(const GemmBench& bench);

// Operations per second over all of them, each as often as in a step: what a step is compared with.
double model_gemm_rate(const GemmBench& bench);

}  // namespace alibi
