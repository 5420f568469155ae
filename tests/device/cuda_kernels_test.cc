// Which library of kernels is taken, and what is said of others. None is run: that needs a device.

#include <gtest/gtest.h>

#include "device/cuda_library.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

class LibraryOfKernels : public testing::Test {
 protected:
  void SetUp() override {
    const std::string& reason = open_cuda_library().reason;
    if (reason.find("ALIBI_CUDA=OFF") != std::string::npos) GTEST_SKIP() << reason;
  }
};

TEST_F(LibraryOfKernels, OthersAreRefusedWithTheReason) {
  const TemporaryFolder folder;
  const auto reason = [](const std::filesystem::path& library) {
    const CudaKernels kernels = open_cuda_kernels(library);
    const RowKernels rows = open_row_kernels(library);
    EXPECT_EQ(kernels.module, nullptr);
    EXPECT_EQ(rows.module, nullptr);
    return kernels.reason + " " + rows.reason;
  };
  EXPECT_NAMES(reason(folder.path() / "none.so"), "none.so");
  EXPECT_NAMES(reason("/proc/self/cmdline"), "cmdline");
  EXPECT_NAMES(reason(ALIBI_NO_MODULE), "alibi_cuda_module", "alibi_row_module");
  EXPECT_NAMES(reason(ALIBI_OTHER_MODULE), kCudaModuleVersion, kRowModuleVersion + 100);
}

// Where nvcc is; LibTorch's CPU libraries bring the CUDA runtime that it needs.
TEST_F(LibraryOfKernels, TheOneBesideTheProgramOpens) {
  const std::filesystem::path library =
      std::filesystem::path(ALIBI_BINARY).parent_path() / kCudaModuleFile;
  if (!std::filesystem::exists(library)) GTEST_SKIP() << library << " is not built";
  const CudaKernels kernels = open_cuda_kernels(library);
  ASSERT_NE(kernels.module, nullptr) << kernels.reason;
  EXPECT_EQ(kernels.module->version, kCudaModuleVersion);
  for (const int width : {8, 64, 96, 128, 256})
    EXPECT_GE(kernels.module->forward_rows(width, BiasKind::kSlopes), 64);
  EXPECT_NE(kernels.module->error_text(1), nullptr);
  const RowKernels rows = open_row_kernels(library);
  ASSERT_NE(rows.module, nullptr) << rows.reason;
  EXPECT_NE(rows.module->cross_entropy, nullptr);
  EXPECT_NE(rows.module->norm, nullptr);
  EXPECT_NE(rows.module->norm_gradient, nullptr);
  EXPECT_FALSE(rows.module->is_own(0));
  EXPECT_TRUE(open_cuda_library().usable || !rows.module->runs()) << "there is no device";
}

}  // namespace
}  // namespace alibi
