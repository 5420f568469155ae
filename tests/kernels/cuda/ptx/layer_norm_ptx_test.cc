// The PTX that nvcc makes of the layer norm's kernels, run on the host (ptx_machine.h) against the
// formula, and with faults put into its text, each found as what it is.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "kernels/cuda/layer_norm_example.h"
#include "kernels/cuda/ptx/compiled_ptx.h"
#include "kernels/cuda/ptx/ptx_machine.h"
#include "kernels/cuda/ptx/ptx_mutants.h"

namespace alibi {
namespace {

enum class Pass { kForward, kBackward };

std::string ptx_of_norm(Pass pass, int width) {
  const std::string shape = with_norm_shape(width, []<int kRowWarps, int kChunks>() {
    return cat("ILi", kRowWarps, "ELi", kChunks, "E");
  });
  return compiled_rows().text->kernel(
      {cat(pass == Pass::kForward ? "run_norm" : "run_norm_gradient", shape)});
}

class PtxLayerNormTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!compiled_rows().text) GTEST_SKIP() << compiled_rows().why_not;
  }
};
using PtxLayerNorm = PtxLayerNormTest;
using PtxLayerNormSpeed = PtxLayerNormTest;
using PtxLayerNormMutantsSlow = PtxLayerNormTest;

// A device's memory that holds the tensors and nothing behind them.
class Tensors {
 public:
  template <class T>
  const T* input(const std::string& name, const std::vector<T>& numbers) {
    if (numbers.empty()) return nullptr;
    return reinterpret_cast<const T*>(memory_.put_input(name, std::as_bytes(std::span(numbers))));
  }
  template <class T>
  T* result(const std::string& name, std::vector<T>& numbers, std::size_t count) {
    const std::uint64_t place = memory_.put_result(name, count * sizeof(T));
    results_.push_back({place, numbers.data()});
    return reinterpret_cast<T*>(place);
  }
  // Throws unless every number of every result was written.
  template <class Work>
  PtxCounts launch(const PtxKernel& kernel, const Work& work, int blocks, unsigned seed) {
    const auto parameters = std::as_bytes(std::span(&work, 1));
    const PtxLaunch launch{.grid = {blocks, 1, 1},
                           .threads = kPtxLanes * kDeviceNormWarps,
                           .parameters = {parameters.begin(), parameters.end()},
                           .seed = seed};
    const PtxCounts counts = launch_ptx(kernel, memory_, launch);
    for (const auto& [place, numbers] : results_) {
      if (memory_.undefined(place) > 0)
        throw PtxError(PtxFault::kUndefined, "a part of a result was not written");
      std::memcpy(numbers, memory_.bytes(place).data(), memory_.bytes(place).size());
    }
    return counts;
  }

 private:
  GlobalMemory memory_;
  std::vector<std::pair<std::uint64_t, void*>> results_;
};

PtxCounts forward(const PtxKernel& kernel, NormExample& example, unsigned seed, bool kept = true) {
  Tensors tensors;
  DeviceNorm a = example.forward_work();
  const auto rows = NormExample::index(a.rows);
  a.x_NC = tensors.input("x", example.x);
  a.weight_C = tensors.input("gains", example.weight);
  a.bias_C = tensors.input("biases", example.bias);
  a.y_NC = tensors.result("y", example.y, example.numbers());
  a.mean_N = kept ? tensors.result("mean", example.mean, rows) : nullptr;
  a.reciprocal_N = kept ? tensors.result("reciprocal", example.reciprocal, rows) : nullptr;
  const int at_once = device_norm_rows_of_block(a.width);
  return tensors.launch(kernel, a, (a.rows - 1) / at_once + 1, seed);
}

PtxCounts backward(const PtxKernel& kernel, NormExample& example, unsigned seed) {
  Tensors tensors;
  DeviceNormGradient a = example.backward_work();
  const auto width = NormExample::index(a.width);
  a.x_NC = tensors.input("x", example.x);
  a.dy_NC = tensors.input("dy", example.dy);
  a.added_NC = tensors.input("added", example.added);
  a.weight_C = tensors.input("gains", example.weight);
  a.mean_N = tensors.input("mean", example.mean);
  a.reciprocal_N = tensors.input("reciprocal", example.reciprocal);
  a.dx_NC = tensors.result("dx", example.dx, example.numbers());
  a.sums_P2C = tensors.result("sums", example.sums, NormExample::index(a.parts) * 2 * width);
  return tensors.launch(kernel, a, a.parts, seed);
}

void run(NormExample& example, unsigned seed = 0) {
  forward(decode_ptx(ptx_of_norm(Pass::kForward, example.sizes.width)), example, seed);
  backward(decode_ptx(ptx_of_norm(Pass::kBackward, example.sizes.width)), example, seed);
}

void expect_formula(NormExample& example, const std::string& what) {
  run(example);
  EXPECT_LE(example.worst_forward(), 1) << what;
  EXPECT_LE(example.worst_backward(), 1) << what;
}

TEST_F(PtxLayerNorm, IsTheFormulaAtEveryWidth) {
  for (const int width : {8, 24, 512, 520, 768, 776, 1024, 1032, 2048, 2056, 4096, 4104, 8192}) {
    NormExample example({.rows = 9, .width = width, .biased = width % 16 == 8});
    expect_formula(example, cat("width ", width));
  }
}

TEST_F(PtxLayerNorm, TakesBiasesTheResidualsGradientAndStatisticsOrNone) {
  for (const int width : {24, 1032}) {
    for (const bool biased : {false, true}) {
      for (const bool added : {false, true}) {
        NormExample example({.rows = 1, .width = width, .biased = biased, .added = added});
        expect_formula(example, cat("width ", width, ", ", int{biased}, int{added}));
      }
    }
    NormExample example({.rows = 3, .width = width});
    forward(decode_ptx(ptx_of_norm(Pass::kForward, width)), example, 0, false);
    EXPECT_LE(example.worst_y(), 1);
  }
}

TEST_F(PtxLayerNorm, SumsOverManyRows) {
  for (const NormSizes& sizes :
       {NormSizes{.rows = 2 * 264 * 8 + 13, .width = 24}, NormSizes{.rows = 528 + 7, .width = 1032},
        NormSizes{.rows = 264 + 3, .width = 2056}}) {
    NormExample example(sizes);
    example.set_exact_statistics();
    backward(decode_ptx(ptx_of_norm(Pass::kBackward, sizes.width)), example, 0);
    EXPECT_LE(example.worst_backward(), 1) << sizes.width;
  }
}

// Warps that run in any order between barriers write the same bits.
TEST_F(PtxLayerNorm, DoesNotDependOnTheOrderOfWarps) {
  for (const int width : {776, 2056}) {
    const NormSizes sizes{.rows = 20, .width = width};
    NormExample in_order(sizes);
    run(in_order);
    for (const unsigned seed : {1U, 2U, 3U}) {
      NormExample mixed(sizes);
      run(mixed, seed);
      EXPECT_EQ(mixed.y, in_order.y);
      EXPECT_EQ(mixed.mean, in_order.mean);
      EXPECT_EQ(mixed.reciprocal, in_order.reciprocal);
      EXPECT_EQ(mixed.dx, in_order.dx);
      EXPECT_EQ(mixed.sums, in_order.sums);
    }
  }
}

std::int64_t total(const PtxCounts& counts, const std::string& part) {
  std::int64_t sum = 0;
  for (const auto& [opcode, count] : counts.instructions)
    if (opcode.starts_with(part)) sum += count;
  return sum;
}

// A row is read once, 16 bytes at once, and so is all that meets it.
TEST_F(PtxLayerNormSpeed, AccessesAndInstructionsAreCounted) {
  constexpr int kWidth = 768, kChunks = 3;  // of a lane
  const auto forward_counts = [](int rows) {
    NormExample example({.rows = rows, .width = kWidth, .biased = false});
    return forward(decode_ptx(ptx_of_norm(Pass::kForward, kWidth)), example, 0);
  };
  const auto backward_counts = [](int rows) {
    NormExample example({.rows = rows, .width = kWidth, .most_parts = 1});
    example.set_exact_statistics();
    return backward(decode_ptx(ptx_of_norm(Pass::kBackward, kWidth)), example, 0);
  };
  const PtxCounts y = forward_counts(8);
  EXPECT_EQ(total(y, "ld.global.v4"), 8 * kChunks);
  EXPECT_EQ(total(y, "ld.global.nc.v4"), 8 * kChunks * 2);
  EXPECT_EQ(total(y, "ld.global"), 8 * kChunks * 3);
  EXPECT_EQ(total(y, "st.global.v4"), 8 * kChunks);
  const PtxCounts few = backward_counts(8), many = backward_counts(16);
  const auto more = [&](const std::string& part) {  // of a row
    return (total(many, part) - total(few, part)) / 8;
  };
  EXPECT_EQ(more("ld.global.v4"), 3 * kChunks);
  EXPECT_EQ(more("ld.global.nc.v4"), 2 * kChunks * 2);
  EXPECT_EQ(more("ld.global"), 3 * kChunks + 2 * kChunks * 2 + 2);
  EXPECT_EQ(more("st.global"), kChunks);
  RecordProperty("forward", std::to_string(total(y, "") / 8));
  RecordProperty("backward", std::to_string(more("")));
  // About 3 % more than when last looked at: 471 and 799.
  EXPECT_LE(total(y, "") / 8, 485);
  EXPECT_GT(total(y, "") / 8, 350);
  EXPECT_LE(more(""), 823);
  EXPECT_GT(more(""), 600);
}

struct Finding {
  std::optional<PtxFault> fault;  // none: it ran to its end
  std::string text;
  double worst = 0;
};

// Rows that end within a lane's chunks, one more than whole blocks take.
Finding found(Pass pass, int width, const std::string& text, unsigned seed = 0) {
  const PtxKernel kernel = decode_ptx(text);
  NormExample example({.rows = width <= kDeviceNormWarpWidth ? 19 : 3, .width = width});
  example.set_exact_statistics();
  try {
    if (pass == Pass::kForward) {
      forward(kernel, example, seed);
      return {{}, {}, example.worst_forward()};
    }
    backward(kernel, example, seed);
    return {{}, {}, example.worst_backward()};
  } catch (const PtxError& error) {
    return {error.fault(), error.what(), 0};
  }
}

using IsRight = std::function<bool(const Finding&)>;

IsRight is(PtxFault fault) {
  return [=](const Finding& finding) { return finding.fault == fault; };
}
bool is_wrong(const Finding& finding) { return finding.fault || finding.worst > 1; }

// Of one mutant at least. Others may change nothing.
void expect_one(Pass pass, int width, const PtxChange& change, const IsRight& is_right) {
  std::string findings;
  const bool any = any_ptx_mutant(ptx_of_norm(pass, width), change, [&](const std::string& text) {
    const Finding finding = found(pass, width, text);
    findings += cat(finding.text, " ", finding.worst, "\n");
    return is_right(finding);
  });
  EXPECT_TRUE(any) << "width " << width << "\n" << findings;
}

constexpr int kWarpWidth = 776, kBlockWidth = 2056;

TEST_F(PtxLayerNormMutantsSlow, NothingIsFoundWithoutAChange) {
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    for (const int width : {kWarpWidth, kBlockWidth}) {
      const Finding finding = found(pass, width, ptx_of_norm(pass, width));
      EXPECT_FALSE(finding.fault) << finding.text;
      EXPECT_LE(finding.worst, 1);
    }
  }
}

// Warps in order, the first reads what the others have not written; between one another, also what
// they write later.
TEST_F(PtxLayerNormMutantsSlow, AMissingBarrierIsFound) {
  const std::pair<Pass, int> kernels[] = {
      {Pass::kForward, kBlockWidth}, {Pass::kBackward, kBlockWidth}, {Pass::kBackward, kWarpWidth}};
  for (const auto& [pass, width] : kernels) {
    for (const unsigned seed : {0U, 1U}) {
      any_ptx_mutant(
          ptx_of_norm(pass, width), replaced("bar.sync \t0;", ""),
          [&, pass = pass, width = width](const std::string& text) {
            const Finding finding = found(pass, width, text, seed);
            EXPECT_TRUE(finding.fault == PtxFault::kUndefined || finding.fault == PtxFault::kRace)
                << width << finding.text;
            return false;
          });
    }
  }
}

// A chunk more than a row has, behind the last or the next row's; a row more than there are;
// numbers behind a row's end that count in its variance.
TEST_F(PtxLayerNormMutantsSlow, ABoundOffByOneIsFound) {
  for (const int width : {kWarpWidth, kBlockWidth}) {
    const auto out = is(PtxFault::kOutOfBounds);
    expect_one(Pass::kForward, width, replaced("setp.ge.s32", "setp.gt.s32"), out);
    expect_one(Pass::kForward, width, replaced("setp.lt.s32", "setp.le.s32"), is_wrong);
    expect_one(Pass::kBackward, width, replaced("setp.ge.s32", "setp.gt.s32"), out);
    expect_one(Pass::kBackward, width, replaced("setp.lt.s32", "setp.le.s32"), out);
  }
}

// A sum over lanes that leaves some out or takes others twice.
TEST_F(PtxLayerNormMutantsSlow, AWrongDistanceIsFound) {
  for (const Pass pass : {Pass::kForward, Pass::kBackward})
    for (const int width : {kWarpWidth, kBlockWidth})
      expect_one(pass, width, in_opcode("mov.u32", ", 16;", ", 8;"), is_wrong);
}

}  // namespace
}  // namespace alibi
