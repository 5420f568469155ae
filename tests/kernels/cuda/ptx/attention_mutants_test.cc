// What the tests of the kernels' PTX would find: each fault is put into the text that nvcc wrote,
// and must be found as what it is.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "kernels/cuda/ptx/attention_bounds.h"
#include "kernels/cuda/ptx/ptx_attention.h"
#include "kernels/cuda/ptx/ptx_mutants.h"

namespace alibi {
namespace {

class PtxMutantsSlow : public testing::Test {
 protected:
  void SetUp() override {
    if (!compiled_attention().text) GTEST_SKIP() << compiled_attention().why_not;
  }
};

constexpr AttentionKernel kTiled[] = {AttentionKernel::kForward, AttentionKernel::kQueryGradient,
                                      AttentionKernel::kKeyGradient};

using Change = PtxChange;

// Of the text of a kernel.
bool any_mutant(AttentionKernel kernel, int width, BiasKind kind, const Change& change,
                const std::function<bool(const std::string& text)>& f) {
  return any_ptx_mutant(ptx_of(kernel, width, kind), change, f);
}

struct Finding {
  std::optional<PtxFault> fault;  // none: it ran to its end
  std::string text;
  double worst = 0;  // of what it computed, in units of what rounding can do
};

struct Problem {
  explicit Problem(const DeviceSizes& sizes, int documents = 0, float threshold_ = -1)
      : example(sizes), threshold(threshold_) {
    if (documents > 0) example.cut_into_documents(documents);
    if (threshold >= 0) example.slopes = {0.5F, 0.004F};
    expected.emplace(example);
  }
  // With a bias of this kind.
  Problem(const DeviceSizes& sizes, BiasKind kind) : example(sizes), threshold(-1) {
    example.cut_into_documents(30);
    is_table(kind) ? example.draw_tables(50) : example.draw_terms();
    if (kind == BiasKind::kShownTable) example.show({{{.window = 10, .stride = 7}, {}}});
    expected.emplace(example);
  }
  BiasKind kind() const {
    if (!example.rules.empty()) return BiasKind::kShownTable;
    if (!example.tables.empty()) return BiasKind::kTable;
    return example.terms.empty() ? BiasKind::kSlopes : BiasKind::kTerms;
  }
  DeviceExample example;
  float threshold;
  std::optional<BoundedAttention> expected;
};

Finding found(const Problem& problem, AttentionKernel kernel, const std::string& text) {
  DeviceExample example = problem.example;
  try {
    PtxAttention attention(example,
                           {.threshold = problem.threshold, .changed = kernel, .instead = text});
    attention.run_forward();
    attention.run_backward();
  } catch (const PtxError& error) {
    return {error.fault(), error.what(), 0};
  }
  return {std::nullopt, "",
          std::max(problem.expected->worst_forward(example),
                   problem.expected->worst_backward(example))};
}

// A small problem with tails in rows and columns, two heads that share keys, and documents.
const Problem& small() {
  static const Problem problem(
      {.sequences = 1, .heads = 2, .key_value_heads = 1, .queries = 70, .keys = 100, .width = 40},
      7);
  return problem;
}

// The same with every column of its kernels in use.
const Problem& whole() {
  static const Problem problem(
      {.sequences = 1, .heads = 2, .key_value_heads = 1, .queries = 70, .keys = 100, .width = 64},
      30);
  return problem;
}

// Of the kernels that have one buffer.
const Problem& wide() {
  static const Problem problem({.sequences = 1,
                                .heads = 2,
                                .key_value_heads = 1,
                                .queries = 130,
                                .keys = 130,
                                .width = 192});
  return problem;
}

// Of every mutant.
void expect_all(const Problem& problem, AttentionKernel kernel, const Change& change,
                const std::function<bool(const Finding&)>& is_right) {
  any_mutant(kernel, problem.example.sizes.width, problem.kind(), change,
             [&](const std::string& text) {
               const Finding finding = found(problem, kernel, text);
               EXPECT_TRUE(is_right(finding)) << finding.text << finding.worst;
               return false;
             });
}

// Of one mutant at least. Others may change nothing: a comparison that no number of this problem
// meets, a loop that is never entered.
void expect_one(const Problem& problem, AttentionKernel kernel, const Change& change,
                const std::function<bool(const Finding&)>& is_right) {
  std::string findings;
  const bool any = any_mutant(kernel, problem.example.sizes.width, problem.kind(), change,
                              [&](const std::string& text) {
                                const Finding finding = found(problem, kernel, text);
                                findings += cat(finding.text, " ", finding.worst, "\n");
                                return is_right(finding);
                              });
  EXPECT_TRUE(any) << findings;
}

std::function<bool(const Finding&)> is(PtxFault fault, const std::string& said) {
  return [=](const Finding& finding) {
    return finding.fault == fault && finding.text.find(said) != std::string::npos;
  };
}
bool is_wrong_value(const Finding& finding) { return !finding.fault && !(finding.worst <= 1); }

TEST_F(PtxMutantsSlow, NothingIsFoundWithoutAChange) {
  for (const Problem* problem : {&small(), &whole(), &wide()}) {
    const Finding finding = found(*problem, AttentionKernel::kForward, "");
    EXPECT_FALSE(finding.fault) << finding.text;
    EXPECT_LE(finding.worst, 1);
  }
}

TEST_F(PtxMutantsSlow, EveryTransposeIsNeeded) {
  for (const AttentionKernel kernel : kTiled)
    expect_all(whole(), kernel, replaced(".x4.trans.shared", ".x4.shared"), is_wrong_value);
}

TEST_F(PtxMutantsSlow, ACopyThatIsNotWaitedForIsUndefined) {
  for (const AttentionKernel kernel : kTiled)
    expect_one(small(), kernel, replaced("cp.async.wait_all;", ""),
               is(PtxFault::kUndefined, "a copy not waited for"));
}

// The waits behind the loops: what a steep slope leaves out is on its way already, and keys that
// no query sees are never looked at.
TEST_F(PtxMutantsSlow, ACopyBehindTheLastTileIsWaitedFor) {
  const Change no_wait = replaced("cp.async.wait_all;", "");
  const Problem steep({.heads = 2, .key_value_heads = 1, .queries = 330, .keys = 330, .width = 64},
                      0, 34);
  expect_one(steep, AttentionKernel::kForward, no_wait, is(PtxFault::kUnfinished, "ends"));
  const Problem far({.queries = 10, .keys = 140, .width = 64}, 65);
  expect_one(far, AttentionKernel::kKeyGradient, no_wait, is(PtxFault::kUnfinished, "ends"));
}

TEST_F(PtxMutantsSlow, AMissingBarrierIsARace) {
  const Change no_barrier = replaced("bar.sync \t0;", "");
  const auto race = is(PtxFault::kRace, "of shared memory");
  expect_all(small(), AttentionKernel::kForward, no_barrier, race);
  expect_one(small(), AttentionKernel::kQueryGradient, no_barrier, race);  // two buffers
  expect_all(small(), AttentionKernel::kKeyGradient, no_barrier, race);
  for (const AttentionKernel kernel : kTiled) expect_all(wide(), kernel, no_barrier, race);
  const Problem steep({.queries = 140, .keys = 140, .width = 40}, 0, 34);
  for (const AttentionKernel kernel : {AttentionKernel::kNorms, AttentionKernel::kReach})
    expect_all(steep, kernel, no_barrier, race);
}

// A row's chunks in their own places, on one side; rows nearer and farther apart.
TEST_F(PtxMutantsSlow, AWrongPlaceInSharedMemoryIsFound) {
  for (const AttentionKernel kernel : kTiled) {
    expect_one(whole(), kernel, only_operand("xor.b32", 2), is_wrong_value);
    expect_one(whole(), kernel, in_opcode("shl.b32", ", 7;", ", 6;"),
               is(PtxFault::kRace, "where a copy is not waited for"));
    expect_one(whole(), kernel, in_opcode("shl.b32", ", 7;", ", 17;"),
               is(PtxFault::kOutOfBounds, "of shared memory"));
  }
}

// A copy that reads whether or not its row and column are there.
bool always_there(std::string& line, std::string_view) {
  if (line.find("cp.async.cg") == std::string::npos) return false;
  line = line.substr(0, line.rfind(',')) + ", 16;";
  return true;
}

// A comparison that takes one more: of rows and columns that are read, and of those written.
TEST_F(PtxMutantsSlow, ABoundOffByOneIsFound) {
  using enum AttentionKernel;
  const Change one_more = replaced("setp.lt.s32", "setp.le.s32");
  const Change one_less = replaced("setp.ge.s32", "setp.gt.s32");
  const auto outside = [](const std::string& tensor) { return is(PtxFault::kOutOfBounds, tensor); };
  for (const AttentionKernel kernel : kTiled) {
    expect_one(small(), kernel, one_more, outside("of q,"));
    expect_one(small(), kernel, one_more, outside("of k,"));
    for (const char* tensor : {"of q,", "of k,", "of v,"})
      expect_one(small(), kernel, always_there, outside(tensor));
  }
  // What has the same bounds shares their comparisons.
  for (const AttentionKernel kernel : {kQueryGradient, kKeyGradient})
    expect_one(small(), kernel, always_there, outside("of output's gradient,"));
  expect_one(small(), kDelta, one_more, outside("of output"));
  expect_one(small(), kForward, one_less, is(PtxFault::kRace, "of output"));
  expect_one(small(), kQueryGradient, one_less, is(PtxFault::kRace, "of q's gradient"));
  expect_one(small(), kKeyGradient, one_less, is(PtxFault::kRace, "of k's gradient"));
}

// A weight of the backward that would become 0.
bool without_mask(std::string& line, std::string_view) {
  if (line.find("\tselp.f32") == std::string::npos) return false;
  const std::vector<std::string> operands = split(line.substr(line.find('%')), ',');
  for (const std::size_t zero : {1, 2}) {
    if (operands[zero] != " 0f00000000") continue;
    line = "\tmov.f32 " + operands[0] + "," + operands[3 - zero] + ";";
    return true;
  }
  return false;
}

// Keys behind the query, and before its document.
TEST_F(PtxMutantsSlow, AMissingMaskIsAWrongValue) {
  expect_one(small(), AttentionKernel::kForward, only_operand("or.pred", 1), is_wrong_value);
  expect_one(small(), AttentionKernel::kForward, only_operand("or.pred", 2), is_wrong_value);
  expect_one(small(), AttentionKernel::kQueryGradient, without_mask, is_wrong_value);
  expect_one(small(), AttentionKernel::kKeyGradient, without_mask, is_wrong_value);
}

// A load of a number of fp32, of those that lie at an offset, takes its neighbour.
bool the_next_number(std::string& line, std::string_view) {
  const std::size_t at = line.rfind('+');
  if (line.find("\tld.global.f32") == std::string::npos || at == std::string::npos) return false;
  line = cat(line.substr(0, at + 1), std::stoi(line.substr(at + 1)) + 4, "];");
  return true;
}

// Biases by a table and by terms: every barrier of the sums by distance, and of what is read or
// summed one place off.
TEST_F(PtxMutantsSlow, AFaultInABiasIsFound) {
  using enum AttentionKernel;
  const DeviceSizes sizes{
      .heads = 2, .key_value_heads = 1, .queries = 130, .keys = 150, .width = 40};
  const Problem table(sizes, BiasKind::kTable), terms(sizes, BiasKind::kTerms);
  expect_all(table, kDistanceGradient, replaced("bar.sync \t0;", ""),
             is(PtxFault::kRace, "of shared memory"));
  expect_one(table, kDistanceGradient, replaced("cp.async.wait_all;", ""),
             is(PtxFault::kUndefined, "a copy not waited for"));
  expect_one(table, kDistanceGradient, without_mask, is_wrong_value);
  for (const AttentionKernel kernel : {kForward, kQueryGradient, kKeyGradient, kDistanceGradient})
    expect_one(table, kernel, the_next_number, is_wrong_value);
  for (const AttentionKernel kernel : {kForward, kQueryGradient, kKeyGradient})
    expect_one(terms, kernel, the_next_number, is_wrong_value);
}

// What a map of tiles says of a tile, or of the next one in the walk, becomes what it says of
// another.
bool the_next_tile(std::string& line, std::string_view) {
  const std::size_t at = line.rfind(']');
  if (line.find("\tld.global.u32") == std::string::npos || at == std::string::npos) return false;
  if (line.rfind('+') != std::string::npos) return false;
  line = line.substr(0, at) + "+4];";
  return true;
}

// A row of a tile's mask that shows everything.
bool a_mask_that_hides_nothing(std::string& line, std::string_view) {
  if (line.find("\tld.global.u64") == std::string::npos) return false;
  line = cat("\tmov.u64 ", line.substr(line.find('%'), line.find(',') - line.find('%')), ", -1;");
  return true;
}

// Of masks by row and by column, and of where the walks of either go on.
TEST_F(PtxMutantsSlow, AFaultInAPatternIsFound) {
  using enum AttentionKernel;
  for (const int width : {64, 192}) {
    const Problem shown(
        {.heads = 2, .key_value_heads = 1, .queries = 130, .keys = 194, .width = width},
        BiasKind::kShownTable);
    for (const AttentionKernel kernel :
         {kForward, kQueryGradient, kKeyGradient, kDistanceGradient}) {
      SCOPED_TRACE(cat("width ", width, ", kernel ", static_cast<int>(kernel)));
      expect_one(shown, kernel, a_mask_that_hides_nothing, is_wrong_value);
      expect_one(shown, kernel, the_next_tile, is_wrong_value);
      expect_one(shown, kernel, replaced("bar.sync \t0;", ""),
                 is(PtxFault::kRace, "of shared memory"));
    }
  }
}

TEST_F(PtxMutantsSlow, AnUnknownOpcodeIsNamed) {
  any_mutant(AttentionKernel::kForward, 64, BiasKind::kSlopes,
             replaced("cp.async.wait_all", "cp.async.later"), [](const std::string& text) {
               try {
                 decode_ptx(text);
                 ADD_FAILURE() << "decoded";
               } catch (const PtxError& error) {
                 EXPECT_EQ(error.fault(), PtxFault::kSyntax);
                 EXPECT_NE(std::string(error.what()).find(": opcode cp.async.later"),
                           std::string::npos);
               }
               return false;
             });
}

}  // namespace
}  // namespace alibi
