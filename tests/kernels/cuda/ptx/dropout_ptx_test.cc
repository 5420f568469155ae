// The PTX that nvcc makes of the dropout kernel, run on the host (ptx_machine.h): the processor's
// numbers, and no address beyond them.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "kernels/cuda/dropout_example.h"
#include "kernels/cuda/ptx/compiled_ptx.h"
#include "kernels/cuda/ptx/ptx_machine.h"
#include "kernels/cuda/ptx/ptx_mutants.h"

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

std::string ptx_of_dropout() { return compiled_rows().text->kernel({"run_dropout"}); }

TEST(PtxDropout, DrawsTheProcessorsNumbers) {
  if (!compiled_rows().text) GTEST_SKIP() << compiled_rows().why_not;
  const PtxKernel kernel = decode_ptx(ptx_of_dropout());
  for (const int width : {1, 3, 4, 65, 511, 512, 513, 1030}) {
    for (const double p : {0.0, 0.1, 0.75}) {
      DropoutExample example(width, p);
      run(kernel, example);
      EXPECT_EQ(example.mask, example.expected()) << width << " " << p;
    }
  }
}

// Whether a change is found as that fault, in one place at least; nullopt: as other numbers.
bool is_found(const PtxChange& change, std::optional<PtxFault> fault) {
  return any_ptx_mutant(ptx_of_dropout(), change, [&](const std::string& text) {
    DropoutExample example(514, 0.5);
    try {
      run(decode_ptx(text), example);
    } catch (const PtxError& error) {
      return error.fault() == fault;
    }
    return !fault && example.mask != example.expected();
  });
}

TEST(PtxDropoutMutants, EachIsFoundAsWhatItIs) {
  if (!compiled_rows().text) GTEST_SKIP() << compiled_rows().why_not;
  EXPECT_TRUE(is_found(replaced("setp.ge.s32", "setp.gt.s32"), PtxFault::kRace)) << "a tail";
  EXPECT_TRUE(is_found(in_opcode("mul.wide.u32", ", -766435501;", ", -766435503;"), {}));
  EXPECT_TRUE(is_found(in_opcode("add.s32", ", -1640531527;", ", -1640531528;"), {})) << "a key";
  EXPECT_TRUE(is_found(in_opcode("shr.u64", ", 32;", ", 31;"), {})) << "a high word";
}

}  // namespace
}  // namespace alibi
