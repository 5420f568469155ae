// Torch tensors through safetensors: every dtype, shape and layout comes back to the bit.
#include "checkpoint/tensors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "checkpoint/example.h"
#include "device/cuda_library.h"
#include "device/libtorch.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

TEST(TensorFiles, EveryDtypeAndShapeComesBack) {
  const TemporaryFolder folder;
  Tensors tensors;
  for (const auto dtype :
       {torch::kFloat64, torch::kFloat32, torch::kFloat16, torch::kBFloat16, torch::kInt64,
        torch::kInt32, torch::kInt16, torch::kInt8, torch::kUInt8, torch::kBool}) {
    const std::string name = c10::toString(dtype);
    const torch::Tensor values = torch::arange(0, 35, torch::kFloat32).remainder(3).to(dtype);
    tensors[name + ".vector"] = values;
    tensors[name + ".transposed"] = values.view({5, 7}).t();
    tensors[name + ".part"] = values.slice(0, 3, 20);
    tensors[name + ".one"] = values[4];
    tensors[name + ".empty"] = torch::empty({3, 0, 2}, dtype);
  }
  tensors["trained"] = torch::ones({2}, torch::requires_grad());
  const auto path = folder.path() / "t.safetensors";
  save_tensors(path, tensors);
  const Tensors read = load_tensors(path);
  EXPECT_TRUE(same_tensors(tensors, read));
  for (const auto& [name, tensor] : read) {
    EXPECT_EQ(tensor.sizes(), tensors[name].sizes()) << name;
    EXPECT_TRUE(tensor.is_contiguous()) << name;
  }
}

TEST(TensorFiles, KeepsNonFiniteValues) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "t.safetensors";
  save_tensors(path, {{"t", torch::tensor({NAN, INFINITY, -INFINITY, -0.0f})}});
  const torch::Tensor read = load_tensors(path)["t"];
  EXPECT_TRUE(read[0].isnan().item<bool>());
  EXPECT_EQ(read[2].item<float>(), -INFINITY);
  EXPECT_TRUE(std::signbit(read[3].item<float>()));
}

TEST(TensorFiles, NoTensorsIsAFileToo) {
  const TemporaryFolder folder;
  save_tensors(folder.path() / "t.safetensors", {});
  EXPECT_TRUE(load_tensors(folder.path() / "t.safetensors").empty());
}

TEST(TensorFiles, RefusesWhatTheFormatCannotHold) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "t.safetensors";
  const std::string error = error_of([&] {
    save_tensors(path, {{"phase", torch::ones({1}, torch::kComplexFloat)}});
  });
  EXPECT_ERROR_AT(error, "t.safetensors: tensor \"phase\"", "ComplexFloat");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TensorFiles, RefusesTruthValuesBeyondOne) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "t.safetensors";
  save_tensors(path, {{"mask", torch::ones({8}, torch::kBool)}});
  std::string bytes = read_file(path);
  bytes.back() = 2;
  write_file_atomic(path, bytes);
  const std::string error = error_of([&] { load_tensors(path); });
  EXPECT_ERROR_AT(error, "t.safetensors: tensor \"mask\"", 0, 1);
}

TEST(TensorFilesCuda, ComesBackFromTheDevice) {
  if (!open_cuda_library().usable) GTEST_SKIP() << open_cuda_library().reason;
  const TemporaryFolder folder;
  const Tensors tensors = {{"t", torch::arange(12, torch::kCUDA).view({3, 4}).t()}};
  save_tensors(folder.path() / "t.safetensors", tensors);
  EXPECT_TRUE(same_tensors(tensors, load_tensors(folder.path() / "t.safetensors")));
}

TEST(TensorFiles, TheFirstThatIsNotFiniteIsNamed) {
  for (const double value : {std::nan(""), double(INFINITY), -double(INFINITY)}) {
    for (const auto type : {torch::kFloat, torch::kBFloat16, torch::kDouble}) {
      Tensors tensors{{"a", torch::ones({50}, type)}, {"b", torch::ones({33}, type)}};
      tensors["c"] = torch::ones({3}, torch::kLong);
      EXPECT_EQ(first_not_finite(tensors), std::nullopt);
      tensors["b"][17] = value;
      EXPECT_EQ(first_not_finite(tensors), "b");
      EXPECT_EQ(first_not_finite({{"view", tensors["b"].slice(0, 1, 33, 4)}}), "view");
    }
  }
  EXPECT_EQ(first_not_finite({{"large", torch::full({3}, 3e38)}}), std::nullopt);
}

}  // namespace
}  // namespace alibi
