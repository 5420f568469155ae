// The device's forward kernel, its very source, run on the host: every length around a tile, head
// widths, caches, shared keys, documents, and what the skip test leaves out. Seen failing with
// copies not waited for, with sums relative to nothing, and with the skip test's threshold left
// out; a table from one distance farther; terms relative to the block before.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "kernels/cuda/device_example.h"
#include "kernels/cuda/run_attention.h"

namespace alibi {
namespace {

// The formula's own rounding: weights and output are bf16 here.
void expect_plain(const DeviceExample& example, const std::string& what, double most_lse = 1e-4) {
  double worst = 0, worst_lse = 0;
  const DeviceSizes& s = example.sizes;
  for (int b = 0; b < s.sequences; ++b) {
    for (int h = 0; h < s.heads; ++h) {
      for (int i = 0; i < s.queries; ++i) {
        const DeviceExample::PlainRow row = example.plain(b, h, i);
        for (int c = 0; c < s.width; ++c) {
          const double difference =
              std::abs(example.output.at(b, h, i, c) - row.output[DeviceExample::at(c)]);
          worst = larger(worst, difference);
        }
        const float lse = example.lse[DeviceExample::at((b * s.heads + h) * s.queries + i)];
        worst_lse = larger(worst_lse, std::abs(lse - row.log_sum));
      }
    }
  }
  EXPECT_LT(worst, 0.02) << what;
  EXPECT_LT(worst_lse, most_lse) << what;
}

TEST(DeviceForward, IsThePlainFormulaAtEveryTail) {
  for (const int length : {1, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 200}) {
    DeviceExample example({.queries = length, .keys = length});
    run_forward(example.work());
    expect_plain(example, cat("length ", length));
  }
}

TEST(DeviceForward, TakesEveryWidth) {
  for (const int width : {8, 24, 64, 72, 96, 128, 136, 192, 256}) {
    DeviceExample example(
        {.heads = 1, .key_value_heads = 1, .queries = 130, .keys = 130, .width = width});
    run_forward(example.work());
    expect_plain(example, cat("width ", width));
  }
  for (int width = 8; width <= kWidestHead; width += 8) {
    const int taken = with_kernel_width(width, [](auto kernel_width) { return kernel_width(); });
    EXPECT_GE(taken, width);
    EXPECT_LT(taken - width, 64);
  }
}

TEST(DeviceForward, CachesSharedKeysAndDocuments) {
  const auto holds = [](int keys, int width) {
    const std::string what = cat(keys, " keys, heads of ", width);
    DeviceExample example({.sequences = 2,
                           .heads = 4,
                           .key_value_heads = 2,
                           .queries = 37,
                           .keys = keys,
                           .width = width});
    run_forward(example.work());
    expect_plain(example, what);
    for (const int length : {1, 20, 64, 100}) {
      example.cut_into_documents(length);
      run_forward(example.work());
      expect_plain(example, cat(what, ", documents of ", length));
    }
  };
  for (const int keys : {64, 65, 128, 191}) holds(keys, 32);
  for (const int width : kEveryKernel) holds(191, width);
  DeviceExample flat({.queries = 80, .keys = 100});
  flat.slopes.clear();
  run_forward(flat.work());
  expect_plain(flat, "no bias");
}

// A table, of which the last number is that of all larger distances, and terms far from 0.
TEST(DeviceForward, TakesTablesAndTerms) {
  const auto holds = [](const DeviceSizes& sizes, int documents) {
    const std::string what =
        cat(sizes.queries, " of ", sizes.keys, ", width ", sizes.width, ", documents ", documents);
    DeviceExample table(sizes), terms(sizes);
    table.draw_tables(50);
    terms.draw_terms();
    for (DeviceExample* example : {&table, &terms}) {
      if (documents > 0) example->cut_into_documents(documents);
      run_forward(example->work());
      expect_plain(*example, what);
    }
  };
  for (const int length : {1, 17, 63, 64, 65, 129, 200})
    holds({.queries = length, .keys = length}, 0);
  for (const int width : {64, 72, 136})
    holds({.heads = 1, .key_value_heads = 1, .queries = 130, .keys = 130, .width = width}, 0);
  const DeviceSizes cached{
      .sequences = 2, .heads = 4, .key_value_heads = 2, .queries = 37, .keys = 191};
  for (const int documents : {0, 1, 20, 100}) holds(cached, documents);
}

// A NaN in a tile that no row of a block is shown changes nothing. Seen failing with every tile
// visited.
TEST(DeviceForward, ReadsNoTileThatIsHidden) {
  DeviceExample example({.heads = 1, .key_value_heads = 1, .queries = 512, .keys = 512});
  const KeyRule window{{.window = 64}, {}};
  example.show({window});
  example.k.rows().at(0, 0, 3)[0] = 0x7fc0;
  example.v.rows().at(0, 0, 3)[0] = 0x7fc0;
  run_forward(example.work());
  EXPECT_TRUE(std::isnan(example.lse[63]));
  for (int i = 256; i < 512; ++i)
    ASSERT_FALSE(std::isnan(example.output.at(0, 0, i, 0))) << "query " << i;
}

// "exact" changes no bit, "epsilon" less than a rounding, and both leave blocks out where slopes
// are steep; a large key far back is kept by its norm. Seen failing with the reach of one block
// only.
void expect_left_out(int width, BiasKind kind) {
  SCOPED_TRACE(cat("heads of ", width, ", bias ", static_cast<int>(kind)));
  const DeviceSizes sizes{
      .heads = 2, .key_value_heads = 1, .queries = 640, .keys = 640, .width = width};
  DeviceExample whole(sizes), exact(sizes), epsilon(sizes);
  for (DeviceExample* example : {&whole, &exact, &epsilon}) {
    if (kind == BiasKind::kSlopes) example->slopes = {0.5F, 0.004F};
    if (is_table(kind)) example->draw_falling_tables(0.5F, 640);
    if (kind == BiasKind::kTerms) example->draw_terms(1);
    // The last head's bias does not fall.
    if (is_table(kind)) example->tables.back().assign(640, 0.1F);
    if (kind == BiasKind::kShownTable) example->show({{{.window = 100, .stride = 7}, {}}});
    if (kind == BiasKind::kTerms) std::fill_n(example->terms.end() - 640, 640, 7.0);
  }
  run_forward(whole.work());
  const int rows = forward_rows<HostBlock>(sizes.width, kind), blocks = 640 / rows;
  std::vector<std::int32_t> first(DeviceExample::at(2 * blocks), -1);
  const auto left_out = [&](DeviceExample& example, float threshold) {
    DeviceAttention a = example.work(threshold);
    a.first_BHM = first.data();
    a.first_rows = rows;
    run_forward(a);
    int sum = 0;
    for (const std::int32_t block : first) sum += block;
    return sum;
  };
  const int in_exact = left_out(exact, 151), in_epsilon = left_out(epsilon, 34);
  EXPECT_EQ(exact.output, whole.output);
  EXPECT_EQ(exact.lse, whole.lse);
  EXPECT_GT(in_exact, 3);
  EXPECT_GT(in_epsilon, in_exact);
  EXPECT_EQ(first[DeviceExample::at(blocks)], 0) << "the flat head sees everything";
  expect_plain(epsilon, "epsilon");
}

TEST(DeviceForward, LeavesOutWhatCannotMatter) {
  for (const int width : {32, 96, 128, 192}) expect_left_out(width, BiasKind::kSlopes);
  for (const BiasKind kind : {BiasKind::kTable, BiasKind::kTerms, BiasKind::kShownTable})
    expect_left_out(32, kind);
}

// Of one head: runs it, skipping what "epsilon" may, and expects that nothing was.
void expect_all_visited(DeviceExample& example) {
  const int rows = forward_rows<HostBlock>(example.sizes.width, BiasKind::kSlopes);
  std::vector<std::int32_t> first(DeviceExample::at((example.sizes.queries + rows - 1) / rows), -1);
  DeviceAttention a = example.work(34);
  a.first_BHM = first.data();
  a.first_rows = rows;
  run_forward(a);
  EXPECT_EQ(first, std::vector<std::int32_t>(first.size(), 0));
}

TEST(DeviceForward, ALargeKeyFarBackIsNotLeftOut) {
  const DeviceSizes sizes{.heads = 1, .key_value_heads = 1, .queries = 320, .keys = 320};
  DeviceExample example(sizes);
  example.slopes = {0.5F};
  // Key 3 outweighs the bias for every query: q is about one direction, the key far along it.
  for (int i = 0; i < 320; ++i) example.q.rows().at(0, 0, i)[0] = HostBlock::rounded(16);
  example.k.rows().at(0, 0, 3)[0] = HostBlock::rounded(128);
  expect_all_visited(example);
  expect_plain(example, "a large key", 1e-3);  // scores of some hundreds in fp32
}

// Seen failing with norms that a later number replaces.
TEST(DeviceForward, ANaNFarBackIsNotLeftOut) {
  const DeviceSizes sizes{.heads = 1, .key_value_heads = 1, .queries = 320, .keys = 320};
  DeviceExample example(sizes);
  example.slopes = {0.5F};
  example.k.rows().at(0, 0, 3)[0] = 0x7fc0;
  expect_all_visited(example);
  EXPECT_TRUE(std::isnan(example.lse.back()));
}

}  // namespace
}  // namespace alibi
