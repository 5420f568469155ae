// The machine that runs PTX on the host, on small kernels written by hand: it computes what the PTX
// ISA says, and finds each fault as what it is. Needs no nvcc.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "base/strings.h"
#include "kernels/cuda/ptx/ptx_machine.h"

namespace alibi {
namespace {

// A kernel with a pointer to its results, %rd0; %r0 is the thread, %r1 four times it.
std::string kernel_of(const std::string& body) {
  return cat(R"(.version 9.0
.target sm_80
.address_size 64
.extern .shared .align 128 .b8 memory[];
.entry small(
	.param .u64 small_results
)
.maxntid 128, 1, 1
{
	.reg .pred 	%p<9>;
	.reg .b16 	%rs<9>;
	.reg .b32 	%r<30>;
	.reg .f32 	%f<30>;
	.reg .b64 	%rd<9>;
	ld.param.u64 	%rd0, [small_results];
	mov.u32 	%r0, %tid.x;
	shl.b32 	%r1, %r0, 2;
	mul.wide.u32 	%rd1, %r0, 4;
	add.s64 	%rd1, %rd0, %rd1;
)",
             body, "\n\tret;\n}\n");
}

struct SmallRun {
  explicit SmallRun(int threads_ = kPtxLanes, unsigned seed_ = 0)
      : threads(threads_), seed(seed_) {}

  // Results: a word a thread.
  std::vector<std::uint32_t> of(const std::string& body) {
    const PtxKernel kernel = decode_ptx(kernel_of(body));
    GlobalMemory memory;
    const auto count = static_cast<std::size_t>(threads);
    const std::uint64_t results = memory.put_result("results", 4 * count);
    const auto bytes = std::as_bytes(std::span(&results, 1));
    counts = launch_ptx(kernel, memory,
                        {.grid = {},
                         .threads = threads,
                         .shared_bytes = 4096,
                         .parameters = {bytes.begin(), bytes.end()},
                         .seed = seed});
    std::vector<std::uint32_t> found(count);
    std::memcpy(found.data(), memory.bytes(results).data(), 4 * count);
    return found;
  }
  int threads;
  unsigned seed;
  PtxCounts counts;
};

std::vector<std::uint32_t> lanes(const std::string& body) { return SmallRun().of(body); }
float first_float(const std::string& body) {
  return std::bit_cast<float>(lanes(body + "\n\tst.global.f32 \t[%rd1], %f0;").front());
}
std::uint32_t first_word(const std::string& body) {
  return lanes(body + "\n\tst.global.u32 \t[%rd1], %r2;").front();
}

void expect_fault(const std::string& body, PtxFault fault, const std::string& said,
                  int threads = kPtxLanes) {
  try {
    SmallRun(threads).of(body);
    ADD_FAILURE() << "nothing found in\n" << body;
  } catch (const PtxError& error) {
    EXPECT_EQ(error.fault(), fault) << error.what();
    EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
  }
}

TEST(PtxMachine, ComputesWholeNumbers) {
  EXPECT_EQ(first_word("mov.u32 %r3, -7;\nshr.s32 %r2, %r3, 1;"), std::uint32_t(-4));
  EXPECT_EQ(first_word("mov.u32 %r3, -8;\nshr.u32 %r2, %r3, 28;"), 15U);
  EXPECT_EQ(first_word("mov.u32 %r3, 5;\nshl.b32 %r2, %r3, 32;"), 0U);
  EXPECT_EQ(first_word("mov.u32 %r3, -7;\ndiv.s32 %r2, %r3, 2;"), std::uint32_t(-3));
  EXPECT_EQ(first_word("mov.u32 %r3, -2;\nmul.hi.s32 %r2, %r3, 3;"), std::uint32_t(-1));
  EXPECT_EQ(first_word("mov.u32 %r3, 7;\nmad.lo.s32 %r2, %r3, -3, 1;"), std::uint32_t(-20));
  EXPECT_EQ(first_word("mov.u32 %r3, -1;\nmov.u32 %r4, 5;\nbfi.b32 %r2, %r3, %r4, 4, 8;"), 0xff5U);
  EXPECT_EQ(first_word("mov.u32 %r3, -9;\ncvt.s64.s32 %rd2, %r3;\nshr.u64 %rd3, %rd2, 60;\n"
                       "cvt.u32.u64 %r2, %rd3;"),
            15U);
  // A source that is wider than its type.
  EXPECT_EQ(first_word("mov.u64 %rd2, 0x500000003;\ncvt.s64.s32 %rd3, %rd2;\n"
                       "shr.u64 %rd3, %rd3, 1;\ncvt.u32.u64 %r2, %rd3;"),
            1U);
  EXPECT_EQ(first_word("mov.u32 %r3, 0x12345678;\nmov.b32 {%rs1, %rs2}, %r3;\n"
                       "mov.b32 %r2, {%rs2, %rs1};"),
            0x56781234U);
}

TEST(PtxMachine, ComputesFloats) {
  EXPECT_EQ(first_float("mov.f32 %f1, 0f40400000;\nfma.rn.f32 %f0, %f1, %f1, %f1;"), 12);
  EXPECT_EQ(first_float("mov.f32 %f1, 0f7FC00000;\nmax.f32 %f0, %f1, 0f3F800000;"), 1);
  EXPECT_EQ(first_float("mov.f32 %f1, 0fFF800000;\nex2.approx.f32 %f0, %f1;"), 0);
  EXPECT_EQ(first_float("mov.f32 %f1, 0fC0400000;\nex2.approx.f32 %f0, %f1;"), 0.125F);
  const float two_thirds = first_float("mov.f32 %f1, 0f3F2AAAAB;\nex2.approx.f32 %f0, %f1;");
  EXPECT_NEAR(two_thirds, std::exp2(0.6666667), 1.5874 * 0x1p-22 + 1e-7);
  EXPECT_EQ(first_float("mov.b32 %r2, -3;\ncvt.rn.f32.s32 %f0, %r2;"), -3);
  // bf16: ties to even, 1 + 2^-8 down and 1 + 3 * 2^-8 up.
  EXPECT_EQ(first_word("cvt.rn.bf16x2.f32 %r2, 0f3F808000, 0f3F818000;"), 0x3f803f82U);
  EXPECT_EQ(first_word("cvt.rn.bf16x2.f32 %r2, 0f7F800001, 0fFF800000;"), 0x7fffff80U);
}

TEST(PtxMachine, ComparesNaNs) {
  const auto holds = [](const std::string& comparison) {
    return first_word(cat("mov.f32 %f1, 0f7FC00000;\nsetp.", comparison,
                          ".f32 %p1, %f1, 0f3F800000;\nselp.u32 %r2, 1, 0, %p1;")) == 1;
  };
  for (const char* comparison : {"lt", "le", "gt", "ge", "eq", "ne", "num"})
    EXPECT_FALSE(holds(comparison)) << comparison;
  for (const char* comparison : {"ltu", "leu", "gtu", "geu", "equ", "neu", "nan"})
    EXPECT_TRUE(holds(comparison)) << comparison;
}

// Lanes part by their number and meet again before the shuffle, which needs all of them.
TEST(PtxMachine, LanesPartAndMeet) {
  const auto found = lanes(R"(	and.b32 %r3, %r0, 3;
	mov.u32 %r2, 100;
	setp.eq.s32 %p1, %r3, 0;
	@%p1 bra AFTER;
LOOP:
	add.s32 %r2, %r2, 1;
	add.s32 %r3, %r3, -1;
	setp.ne.s32 %p2, %r3, 0;
	@%p2 bra LOOP;
AFTER:
	shfl.sync.bfly.b32 %r4|%p3, %r2, 1, 31, -1;
	st.global.u32 [%rd1], %r4;)");
  for (std::uint32_t lane = 0; lane < kPtxLanes; ++lane)
    EXPECT_EQ(found[lane], 100 + ((lane ^ 1) & 3)) << lane;
}

TEST(PtxMachine, ScopesHideRegisters) {
  EXPECT_EQ(first_word("mov.u32 %r2, 5;\n{\n.reg .b32 %r2;\nmov.u32 %r2, 6;\n}"), 5U);
}

// Matrices of 8 x 8 that hold their place: row r, column c is 8 r + c.
const char* const kMatrices = R"(	mov.u32 %r5, memory;
	shl.b32 %r6, %r0, 4;
	add.s32 %r6, %r6, %r5;
	shl.b32 %r7, %r0, 3;
	and.b32 %r7, %r7, 63;
	add.s32 %r8, %r7, 1;
	shl.b32 %r8, %r8, 16;
	or.b32 %r8, %r8, %r7;
	add.s32 %r9, %r8, 0x20002;
	add.s32 %r10, %r8, 0x40004;
	add.s32 %r11, %r8, 0x60006;
	st.shared.v4.u32 [%r6], {%r8, %r9, %r10, %r11};
	bar.sync 0;
)";

TEST(PtxMachine, LoadsMatrices) {
  const auto rows = lanes(cat(kMatrices, R"(
	ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r12, %r13, %r14, %r15}, [%r6];
	st.global.u32 [%rd1], %r13;)"));
  const auto columns = lanes(cat(kMatrices, R"(
	ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r12, %r13, %r14, %r15}, [%r6];
	st.global.u32 [%rd1], %r13;)"));
  for (std::uint32_t lane = 0; lane < kPtxLanes; ++lane) {
    const std::uint32_t g = lane / 4, t = 2 * (lane % 4);
    EXPECT_EQ(rows[lane], (8 * g + t) | (8 * g + t + 1) << 16) << lane;
    EXPECT_EQ(columns[lane], (8 * t + g) | (8 * (t + 1) + g) << 16) << lane;
  }
}

// Left row g, column k: 1 where k = g; right row k, column n: k + 16 n; so sums are right's rows.
TEST(PtxMachine, MultipliesMatrices) {
  const auto found = lanes(R"(	shr.u32 %r2, %r0, 2;
	and.b32 %r3, %r0, 3;
	shl.b32 %r3, %r3, 1;
	add.s32 %r4, %r3, 1;
	setp.eq.s32 %p1, %r2, %r3;
	setp.eq.s32 %p2, %r2, %r4;
	selp.f32 %f1, 0f3F800000, 0f00000000, %p1;
	selp.f32 %f2, 0f3F800000, 0f00000000, %p2;
	cvt.rn.bf16x2.f32 %r5, %f2, %f1;
	mov.u32 %r6, 0;
	shl.b32 %r7, %r2, 4;
	add.s32 %r8, %r7, %r3;
	add.s32 %r9, %r7, %r4;
	cvt.rn.f32.s32 %f3, %r8;
	cvt.rn.f32.s32 %f4, %r9;
	cvt.rn.bf16x2.f32 %r10, %f4, %f3;
	mov.f32 %f10, 0f3F800000;
	mov.f32 %f11, 0f3F800000;
	mov.f32 %f12, 0f3F800000;
	mov.f32 %f13, 0f3F800000;
	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f10, %f11, %f12, %f13}, {%r5, %r6, %r6, %r6}, {%r10, %r6}, {%f10, %f11, %f12, %f13};
	st.global.f32 [%rd1], %f10;)");
  for (std::uint32_t lane = 0; lane < kPtxLanes; ++lane) {
    const std::uint32_t g = lane / 4, column = 2 * (lane % 4);
    EXPECT_EQ(std::bit_cast<float>(found[lane]), static_cast<float>(1 + g + 16 * column)) << lane;
  }
}

TEST(PtxMachine, VotesAndCounts) {
  SmallRun run(64);
  const auto found = run.of(R"(	setp.lt.s32 %p1, %r0, 63;
	setp.lt.s32 %p2, %r0, 64;
	bar.red.and.pred %p3, 0, %p1;
	bar.red.and.pred %p4, 0, %p2;
	selp.u32 %r2, 1, 0, %p3;
	selp.u32 %r3, 2, 0, %p4;
	add.s32 %r2, %r2, %r3;
	st.global.u32 [%rd1], %r2;)");
  EXPECT_EQ(found, std::vector<std::uint32_t>(64, 2));
  EXPECT_EQ(run.counts.instructions.at("bar.red.and.pred"), 4);
  EXPECT_EQ(run.counts.instructions.at("st.global.u32"), 2);
}

// Rows 128 bytes apart share their banks, those side by side do not.
TEST(PtxMachine, CountsBankConflicts) {
  const auto conflicts = [](int bytes) {
    SmallRun run;
    run.of(cat("	mov.u32 %r5, memory;\n	mov.u32 %r6, 0;\n	mov.u32 %r9, ", bytes,
               R"(;
	mad.lo.s32 %r7, %r0, %r9, %r5;
	st.shared.v4.u32 [%r7], {%r6, %r6, %r6, %r6};
	bar.sync 0;
	ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r12, %r13, %r14, %r15}, [%r7];
	st.global.u32 [%rd1], %r12;)"));
    return run.counts.bank_conflicts;
  };
  EXPECT_EQ(conflicts(16), 0);
  EXPECT_EQ(conflicts(32), 4);
  EXPECT_EQ(conflicts(128), 28);
}

TEST(PtxFaults, NamesWhatItDoesNotKnow) {
  expect_fault("	frob.u32 %r2, %r0;", PtxFault::kSyntax, "line 20: opcode frob.u32");
  expect_fault("	add.s32 %r2, %r0;", PtxFault::kSyntax, "add.s32 does not take 2 operands");
  expect_fault("	add.s32 %r2, %rd0, 1;", PtxFault::kSyntax, "64 bits wide");
  expect_fault("	bra NOWHERE;", PtxFault::kSyntax, "no label NOWHERE");
  expect_fault("	.local .b8 x[4];", PtxFault::kSyntax, ".local");
}

TEST(PtxFaults, SaysWhere) {
  expect_fault("	setp.eq.s32 %p1, %r0, 33;\n	@%p1 st.global.u32 [%rd0+256], %r0;",
               PtxFault::kOutOfBounds,
               "small: block (0, 0, 0), warp 1, lane 1: line 21: @%p1 st.global.u32", 64);
}

TEST(PtxFaults, FindsBoundsAndAlignment) {
  const std::string shared = "	mov.u32 %r5, memory;\n	mov.u32 %r6, 0;\n";
  expect_fault("	ld.global.u32 %r2, [%rd0+-4];", PtxFault::kOutOfBounds, "at -4 of results");
  expect_fault("	st.global.u32 [%rd1+4], %r0;", PtxFault::kOutOfBounds, "lane 31");
  expect_fault("	mov.u64 %rd2, 64;\n	ld.global.u32 %r2, [%rd2];", PtxFault::kOutOfBounds,
               "0x40 is in no tensor");
  expect_fault("	st.global.u32 [%rd0+2], %r0;", PtxFault::kMisaligned, "at 2 of results");
  expect_fault(shared + "	st.shared.u32 [%r5+4096], %r6;", PtxFault::kOutOfBounds, "4096");
  expect_fault(shared + "	st.shared.u32 [%r5+-4], %r6;", PtxFault::kOutOfBounds, "-4");
  expect_fault(shared + "	st.shared.v4.u32 [%r5+8], {%r6, %r6, %r6, %r6};",
               PtxFault::kMisaligned, "16 bytes at 8");
  expect_fault("	ld.param.u64 %rd2, [small_results+8];", PtxFault::kOutOfBounds,
               "parameters");
  expect_fault("	ld.param.u64 %rd2, [small_results+4];", PtxFault::kOutOfBounds,
               "parameters");
}

TEST(PtxFaults, FindsWhatIsUndefined) {
  expect_fault("	add.s32 %r2, %r3, 1;", PtxFault::kUndefined, "register");
  expect_fault(
      "	setp.eq.s32 %p1, %r0, 5;\n	@%p1 mov.u32 %r3, 1;\n	add.s32 %r2, %r3, 1;",
      PtxFault::kUndefined, "lane 0");
  expect_fault("	mov.u32 %r5, memory;\n	ld.shared.u32 %r2, [%r5];", PtxFault::kUndefined,
               "byte 0 of shared memory is not written");
  expect_fault("	ld.global.u32 %r2, [%rd1];", PtxFault::kUndefined, "of results");
}

// 16 bytes a lane, all zeros.
const std::string kCopy = R"(	mov.u32 %r5, memory;
	shl.b32 %r6, %r0, 4;
	add.s32 %r6, %r6, %r5;
	mov.u32 %r7, 0;
	cp.async.cg.shared.global [%r6], [%rd0], 16, %r7;
)";

TEST(PtxFaults, CopiesAreThereAfterWaitAndBarrier) {
  const std::string wait = "	cp.async.wait_all;\n", barrier = "	bar.sync 0;\n";
  const std::string own = "	ld.shared.u32 %r2, [%r6];\n";
  const std::string next = "	xor.b32 %r8, %r6, 16;\n	ld.shared.u32 %r2, [%r8];\n";
  EXPECT_EQ(first_word(kCopy + wait + own), 0U);
  EXPECT_EQ(first_word(kCopy + wait + barrier + next), 0U);
  expect_fault(kCopy + own, PtxFault::kUndefined, "a copy not waited for");
  expect_fault(kCopy + barrier + own, PtxFault::kUndefined, "a copy not waited for");
  expect_fault(kCopy + wait + next, PtxFault::kRace, "since the last barrier");
  expect_fault(kCopy + barrier + wait + next, PtxFault::kRace, "since the last barrier");
  expect_fault(kCopy + "	st.shared.u32 [%r6], %r7;", PtxFault::kRace, "a write");
  expect_fault(kCopy, PtxFault::kUnfinished, "ends with a copy");
}

// In either order of two warps, and whatever the seed.
TEST(PtxFaults, FindsRacesInAnyOrder) {
  const auto body = [](int writer) {
    return cat("	mov.u32 %r5, memory;\n	shr.u32 %r6, %r0, 5;\n	setp.eq.s32 %p1, %r6, ",
               writer,
               R"(;
	and.b32 %r7, %r1, 127;
	add.s32 %r7, %r7, %r5;
	setp.lt.s32 %p2, %r0, 32;
	@%p2 st.shared.u32 [%r7], %r0;
	bar.sync 0;
	@%p1 st.shared.u32 [%r7], %r0;
	@!%p1 ld.shared.u32 %r8, [%r7];
	mov.u32 %r8, 1;
	st.global.u32 [%rd1], %r8;)");
  };
  for (const int writer : {0, 1}) {
    for (const unsigned seed : {0U, 1U, 2U, 3U}) {
      try {
        SmallRun(64, seed).of(body(writer));
        ADD_FAILURE() << "no race: warp " << writer << " writes, seed " << seed;
      } catch (const PtxError& error) {
        EXPECT_EQ(error.fault(), PtxFault::kRace) << error.what();
      }
    }
  }
  expect_fault("	st.global.u32 [%rd0], %r0;", PtxFault::kRace, "byte 0 of results");
}

TEST(PtxFaults, WholeWarpsAndAllWarps) {
  const std::string half = "	setp.lt.s32 %p1, %r0, 16;\n	mov.u32 %r2, 0;\n";
  expect_fault(half + "	@%p1 shfl.sync.bfly.b32 %r4|%p3, %r2, 1, 31, -1;", PtxFault::kDiverged,
               "not all lanes");
  expect_fault(half + "	@%p1 bar.sync 0;", PtxFault::kDiverged, "a part of a warp");
  const std::string one_warp = "	setp.lt.s32 %p1, %r0, 32;\n	@%p1 bra FIRST;\n";
  expect_fault(one_warp + "	ret;\nFIRST:\n	bar.sync 0;", PtxFault::kBarrier, "not all warps",
               64);
  expect_fault(one_warp + "	bar.sync 0;\n	ret;\nFIRST:\n	bar.sync 0;", PtxFault::kBarrier,
               "not all warps", 64);
  expect_fault("LOOP:\n	bra LOOP;", PtxFault::kEndless, "does not end");
}

TEST(PtxFaults, InputsAreNotWritten) {
  const PtxKernel kernel = decode_ptx(kernel_of("	st.global.u32 [%rd1], %r0;"));
  GlobalMemory memory;
  const std::vector<std::byte> zeros(128);
  const std::uint64_t input = memory.put_input("input", zeros);
  const auto bytes = std::as_bytes(std::span(&input, 1));
  try {
    launch_ptx(kernel, memory, {.grid = {}, .parameters = {bytes.begin(), bytes.end()}});
    FAIL();
  } catch (const PtxError& error) {
    EXPECT_EQ(error.fault(), PtxFault::kReadOnly);
  }
}

// In place each thread may read and write what is its own, and nobody else's.
TEST(PtxFaults, WhatIsChangedInPlaceIsInputAndResult) {
  const auto run = [](const std::string& place) {
    const PtxKernel kernel =
        decode_ptx(kernel_of(cat("ld.global.u32 %r2, ", place, ";\nadd.s32 %r2, %r2, %r0;\n",
                                 "st.global.u32 [%rd1], %r2;")));
    GlobalMemory memory;
    const std::vector<std::uint32_t> sevens(32, 7);
    const std::uint64_t changed = memory.put_changed("changed", std::as_bytes(std::span(sevens)));
    const auto bytes = std::as_bytes(std::span(&changed, 1));
    launch_ptx(kernel, memory, {.grid = {}, .parameters = {bytes.begin(), bytes.end()}});
    std::vector<std::uint32_t> found(32);
    std::memcpy(found.data(), memory.bytes(changed).data(), 128);
    return found;
  };
  EXPECT_EQ(run("[%rd1]")[31], 38U);
  try {
    run("[%rd0]");
    FAIL();
  } catch (const PtxError& error) {
    EXPECT_EQ(error.fault(), PtxFault::kRace);
  }
}

}  // namespace
}  // namespace alibi
