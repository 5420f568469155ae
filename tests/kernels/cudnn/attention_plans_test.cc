// cuDNN itself builds the plans here, down to the device's code, for an H100 that is described and
// not there. What the plans compute is held against the formula on a device only (AttentionCuda).
//
// Seen failing: with cuDNN's deterministic backward (memory), with slopes that are not a tensor of
// the caller's, with plans kept by their lengths alone.
#include "kernels/cudnn/attention_plans.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <unordered_map>

#include "device/cuda_module.h"

namespace alibi {
namespace {

constexpr const char* kH100 = R"({
  "deviceName": "NVIDIA H100", "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0, "pciDeviceId": 0,
  "multiProcessorCount": 132, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
  "totalGlobalMem": 85000000000, "l2CacheSize": 52428800, "warpSize": 32,
  "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
  "regsPerBlock": 65536, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,
  "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "maxSharedMemoryPerBlock": 49152,
  "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024,
  "isTccDriver": 0, "supportCoopLaunch": 1})";

class AttentionPlansInterop : public testing::Test {
 protected:
  // In this order: cuDNN takes what is there already.
  static void SetUpTestSuite() {
    for (const char* library :
         {ALIBI_NO_DRIVER, ALIBI_CUDA_LIBRARIES "/libcudart.so.13",
          ALIBI_CUDA_LIBRARIES "/libnvrtc.so.13", ALIBI_CUDA_LIBRARIES "/libcublasLt.so.13"})
      ASSERT_NE(dlopen(library, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
    open_cudnn(ALIBI_CUDNN_LIBRARIES "/libcudnn.so.9");
  }

  static PlanTarget h100() {
    const std::string words = kH100;
    auto properties = std::make_shared<cudnn_frontend::DeviceProperties>();
    expect_good("the description", properties->deserialize({words.begin(), words.end()}));
    return {.described = properties, .capability = 90, .processors = 132};
  }

  AttentionPlans plans_{h100()};
};

// As the model lays them out: rows of all heads beside one another.
RowStrides rows(std::int64_t length, std::int64_t heads, std::int64_t width) {
  return {length * heads * width, width, heads * width};
}

AttentionShape shape(std::int64_t length, std::int64_t width, bool biased, bool backward) {
  AttentionShape s{.sequences = 2,
                   .heads = 12,
                   .key_value_heads = 4,
                   .length = length,
                   .width = width,
                   .scale = 0.125F,
                   .biased = biased,
                   .backward = backward};
  s.q = s.output = rows(length, 12, width);
  s.k = s.v = rows(length, 4, width);
  if (!backward) return s;
  s.output_gradient = s.q_gradient = s.q;
  s.k_gradient = s.v_gradient = s.k;
  return s;
}

TEST_F(AttentionPlansInterop, EveryShapeHasOne) {
  for (const std::int64_t width : {32, 64, 128, 256})
    for (const std::int64_t length : {2, 1000})
      for (const bool biased : {false, true})
        for (const bool backward : {false, true})
          EXPECT_NO_THROW(plans_.plan(shape(length, width, biased, backward)))
              << length << " " << width << " " << biased << " " << backward;
}

// q, k and v, and their gradients, are parts of one tensor in the model.
AttentionShape fused(std::int64_t length, std::int64_t heads, std::int64_t width, bool backward) {
  AttentionShape s = shape(length, width, true, backward);
  s.heads = heads;
  s.key_value_heads = heads / 2;
  const std::int64_t row = 2 * heads * width;
  s.q = s.k = s.v = {length * row, width, row};
  s.output = rows(length, heads, width);
  if (!backward) return s;
  s.output_gradient = s.output;
  s.q_gradient = s.k_gradient = s.v_gradient = s.q;
  return s;
}

// What the tests with a device ask for.
TEST_F(AttentionPlansInterop, ShapesOfTheModelHaveOne) {
  const auto has = [&](std::int64_t length, std::int64_t heads, std::int64_t width) {
    for (const bool backward : {false, true})
      EXPECT_NO_THROW(plans_.plan(fused(length, heads, width, backward)))
          << length << " " << heads << " " << width << " " << backward;
  };
  for (const std::int64_t width : {8, 16, 24, 40, 80, 96, 160, 192}) has(33, 2, width);
  for (const std::int64_t length : {15, 16, 17, 31, 127, 128, 129}) has(length, 4, 16);
}

TEST_F(AttentionPlansInterop, MemoryGrowsWithTheLengthNotItsSquare) {
  EXPECT_LE(plans_.plan(shape(131'072, 64, true, false)).get_workspace_size(), 1 << 20);
  const auto bytes = [&](std::int64_t length) {
    return plans_.plan(shape(length, 64, true, true)).get_workspace_size();
  };
  EXPECT_LE(bytes(131'072), 4.5 * static_cast<double>(bytes(32'768)));
}

TEST_F(AttentionPlansInterop, TheSameShapeIsBuiltOnce) {
  const AttentionShape one = shape(256, 64, true, false);
  CudnnGraph* const plan = &plans_.plan(one);
  EXPECT_EQ(&plans_.plan(one), plan);
  AttentionShape other = one;
  other.scale = 0.25F;
  EXPECT_NE(&plans_.plan(other), plan);
  other = one;
  other.q.row *= 3;  // q, k and v in one tensor
  other.q.sequence *= 3;
  EXPECT_NE(&plans_.plan(other), plan);
  EXPECT_EQ(plans_.size(), 3U);
}

TEST_F(AttentionPlansInterop, WhatHasNoEngineIsRefusedInCudnnsWords) {
  const AttentionShape odd = shape(256, 12, true, false);
  try {
    plans_.plan(odd);
    FAIL() << "heads of 12 numbers were taken";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("cuDNN"), std::string::npos) << error.what();
  }
  EXPECT_EQ(plans_.size(), 0U);
}

// Slopes are an input of the graph, not numbers of the frontend's.
TEST_F(AttentionPlansInterop, SlopesAreTheCallers) {
  float number = 0;
  std::unordered_map<std::int64_t, void*> pointers;
  for (const GraphTensor tensor :
       {GraphTensor::kQ, GraphTensor::kK, GraphTensor::kV, GraphTensor::kOutput, GraphTensor::kLse})
    pointers[static_cast<std::int64_t>(tensor)] = &number;
  auto status = plans_.plan(shape(256, 64, true, false)).execute(nullptr, pointers, nullptr);
  EXPECT_FALSE(status.is_good());
  EXPECT_NE(status.get_message().find(std::to_string(static_cast<int>(GraphTensor::kSlopes))),
            std::string::npos)
      << status.get_message();
}

// LibTorch holds a frontend of another version: nothing of this one may be seen outside.
TEST_F(AttentionPlansInterop, TheModuleShowsItsTableOnly) {
  void* module = dlopen(ALIBI_CUDNN_MODULE, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(module, nullptr) << dlerror();
  const auto table = reinterpret_cast<CudaModuleFunction>(dlsym(module, kCudaModuleSymbol));
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table()->version, kCudaModuleVersion);
  EXPECT_EQ(table()->score_unit, 1);
  EXPECT_EQ(table()->forward_rows, nullptr);
  EXPECT_EQ(dlsym(module, "_ZN14cudnn_frontend14cudnn_dlhandleE"), nullptr);
}

// Without a device a call fails in words, and no exception leaves the library.
TEST_F(AttentionPlansInterop, TheModuleFailsInWords) {
  void* module = dlopen(ALIBI_CUDNN_MODULE, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(module, nullptr) << dlerror();
  const auto table = reinterpret_cast<CudaModuleFunction>(dlsym(module, kCudaModuleSymbol));
  EXPECT_LT(table()->workspace({}, false), 0);
  EXPECT_NE(std::string(table()->error_text(1)).find("cuDNN"), std::string::npos);
}

}  // namespace
}  // namespace alibi
