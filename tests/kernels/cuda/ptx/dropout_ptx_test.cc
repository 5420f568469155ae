// The PTX that nvcc makes of the dropout kernel, run on the host (ptx_machine.h): the processor's
// numbers, and no address beyond them.
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/cuda/dropout_example.h"
#include "kernels/cuda/ptx/compiled_ptx.h"
#include "kernels/cuda/ptx/ptx_machine.h"

namespace alibi {
namespace {

void run(const PtxKernel& kernel, DropoutExample& example) {
  GlobalMemory memory;
  DeviceDropout a = example.work();
  const std::size_t bytes = 4 * (example.mask.size() - 4);
  const std::uint64_t mask = memory.put_result("mask", bytes);
  a.rows_N = reinterpret_cast<const std::int64_t*>(
      memory.put_input("rows", std::as_bytes(std::span(example.rows))));
  a.mask_NW = reinterpret_cast<float*>(mask);
  const auto parameters = std::as_bytes(std::span(&a, 1));
  launch_ptx(kernel, memory,
             {.grid = {a.rows, 1, 1},
              .threads = kPtxLanes * DropoutRow<HostBlock>::kWarps,
              .parameters = {parameters.begin(), parameters.end()}});
  ASSERT_EQ(memory.undefined(mask), 0U) << "numbers that were not written";
  std::memcpy(example.mask.data(), memory.bytes(mask).data(), bytes);
}

TEST(PtxDropout, DrawsTheProcessorsNumbers) {
  if (!compiled_rows().text) GTEST_SKIP() << compiled_rows().why_not;
  const PtxKernel kernel = decode_ptx(compiled_rows().text->kernel({"run_dropout"}));
  for (const int width : {1, 3, 4, 65, 511, 512, 513, 1030}) {
    for (const double p : {0.0, 0.1, 0.75}) {
      DropoutExample example(width, p);
      run(kernel, example);
      EXPECT_EQ(example.mask, example.expected()) << width << " " << p;
    }
  }
}

}  // namespace
}  // namespace alibi
