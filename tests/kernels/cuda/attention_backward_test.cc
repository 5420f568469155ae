// The device's backward kernels, their very source, run on the host against the formula's gradients
// in fp64. Seen failing with the barrier between two tiles, and with delta, left out; those of
// biases with a head's sums of terms kept for the next, and with a diagonal's sums one place off.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "kernels/cuda/device_example.h"
#include "kernels/cuda/run_attention.h"

namespace alibi {
namespace {

using Numbers = std::vector<double>;  // (B, heads, length, W)

struct PlainGradients {
  Numbers q, k, v;
  Numbers distances;  // (H, S)
  Numbers terms;      // (B, H, S)
};

std::size_t place(const DeviceSizes& s, int heads, int length, int b, int h, int i) {
  return DeviceExample::at(((b * heads + h) * length + i) * s.width);
}

// Row i of one head: its part of all three gradients.
void add_row(const DeviceExample& e, int b, int h, int i, PlainGradients& sums) {
  const DeviceSizes& s = e.sizes;
  const DeviceExample::PlainRow row = e.plain(b, h, i);
  double delta = 0;
  for (int c = 0; c < s.width; ++c)
    delta += row.output[DeviceExample::at(c)] * e.output_gradient.at(b, h, i, c);
  const int kv = e.kv_head(h);
  for (int j = row.first; j < row.first + static_cast<int>(row.weights.size()); ++j) {
    const double weight = row.weights[DeviceExample::at(j - row.first)];
    double product = 0;
    for (int c = 0; c < s.width; ++c)
      product += e.output_gradient.at(b, h, i, c) * e.v.at(b, kv, j, c);
    const double score_change = weight * (product - delta), change = score_change * e.scale;
    const int behind = s.keys - s.queries + i - j;
    sums.distances[DeviceExample::at(h * s.keys + behind)] += score_change;
    sums.terms[DeviceExample::at((b * s.heads + h) * s.keys + j)] -= score_change;
    const std::size_t q = place(s, s.heads, s.queries, b, h, i);
    const std::size_t k = place(s, s.key_value_heads, s.keys, b, kv, j);
    for (int c = 0; c < s.width; ++c) {
      sums.q[q + DeviceExample::at(c)] += change * e.k.at(b, kv, j, c);
      sums.k[k + DeviceExample::at(c)] += change * e.q.at(b, h, i, c);
      sums.v[k + DeviceExample::at(c)] += weight * e.output_gradient.at(b, h, i, c);
    }
  }
}

PlainGradients plain_gradients(const DeviceExample& e) {
  const DeviceSizes& s = e.sizes;
  const std::size_t keys = place(s, s.key_value_heads, s.keys, s.sequences, 0, 0);
  PlainGradients sums{Numbers(place(s, s.heads, s.queries, s.sequences, 0, 0)), Numbers(keys),
                      Numbers(keys), Numbers(DeviceExample::at(s.heads * s.keys)),
                      Numbers(DeviceExample::at(s.sequences * s.heads * s.keys))};
  for (int b = 0; b < s.sequences; ++b) {
    for (int h = 0; h < s.heads; ++h) {
      for (int i = 0; i < s.queries; ++i) add_row(e, b, h, i, sums);
    }
  }
  return sums;
}

// Largest difference by the gradient's largest number.
double difference(const DeviceSizes& s, const DeviceTensor& found, const Numbers& expected,
                  int heads, int length) {
  double worst = 0, size = 0;
  for (const double x : expected) size = std::max(size, std::abs(x));
  for (int b = 0; b < s.sequences; ++b) {
    for (int h = 0; h < heads; ++h) {
      for (int i = 0; i < length; ++i) {
        for (int c = 0; c < s.width; ++c) {
          const double one =
              std::abs(found.at(b, h, i, c) -
                       expected[place(s, heads, length, b, h, i) + DeviceExample::at(c)]);
          worst = larger(worst, one);
        }
      }
    }
  }
  return worst / size;
}

double difference(const Numbers& found, const Numbers& expected) {
  double worst = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    size = std::max(size, std::abs(expected[i]));
    worst = larger(worst, std::abs(found[i] - expected[i]));
  }
  return worst / size;
}

void expect_gradients(const DeviceExample& e, const std::string& what) {
  const DeviceSizes& s = e.sizes;
  const PlainGradients expected = plain_gradients(e);
  EXPECT_LT(difference(s, e.q_gradient, expected.q, s.heads, s.queries), 0.02) << what;
  EXPECT_LT(difference(s, e.k_gradient, expected.k, s.key_value_heads, s.keys), 0.02) << what;
  EXPECT_LT(difference(s, e.v_gradient, expected.v, s.key_value_heads, s.keys), 0.02) << what;
  if (!e.tables.empty()) {
    Numbers found;
    for (int h = 0; h < s.heads; ++h)
      for (int d = 0; d < s.keys; ++d) found.push_back(e.table_gradient(h, d));
    EXPECT_LT(difference(found, expected.distances), 0.02) << what << ", by distance";
  }
  if (!e.terms.empty()) {
    EXPECT_LT(difference(e.term_gradient(), expected.terms), 0.02) << what << ", of terms";
  }
}

TEST(DeviceBackward, IsThePlainFormulaAtEveryTail) {
  for (const int length : {2, 15, 16, 17, 33, 63, 64, 65, 128, 129, 200}) {
    DeviceExample example({.queries = length, .keys = length});
    run_forward(example.work());
    run_backward(example.work());
    expect_gradients(example, cat("length ", length));
  }
}

TEST(DeviceBackward, TakesEveryWidth) {
  for (const int width : {8, 40, 64, 96, 128, 160, 256}) {
    DeviceExample example(
        {.heads = 1, .key_value_heads = 1, .queries = 100, .keys = 100, .width = width});
    run_forward(example.work());
    run_backward(example.work());
    expect_gradients(example, cat("width ", width));
  }
}

TEST(DeviceBackward, CachesSharedKeysAndDocuments) {
  const auto holds = [](int keys, int width) {
    DeviceExample example({.sequences = 2,
                           .heads = 4,
                           .key_value_heads = 2,
                           .queries = 50,
                           .keys = keys,
                           .width = width});
    for (const int length : {0, 1, 20, 64, 100}) {
      if (length > 0) example.cut_into_documents(length);
      run_forward(example.work());
      run_backward(example.work());
      if (length != 1)
        expect_gradients(example, cat(keys, " keys, documents of ", length, ", heads of ", width));
    }
  };
  for (const int keys : {64, 100, 191}) holds(keys, 32);
  for (const int width : kEveryKernel) holds(100, width);
}

// Biases by a table and by terms, with their gradients, at every tail; the norms of small ones.
void expect_biases(const DeviceSizes& sizes, int documents, const std::string& what) {
  for (const bool tables : {true, false}) {
    DeviceExample example(sizes);
    tables ? example.draw_tables(50) : example.draw_terms();
    if (documents > 0) example.cut_into_documents(documents);
    run_forward(example.work());
    run_backward(example.work());
    expect_gradients(example, cat(what, tables ? ", a table" : ", terms"));
  }
}

TEST(DeviceBackward, TakesTablesAndTerms) {
  for (const int length : {2, 17, 64, 65, 130, 200})
    expect_biases({.queries = length, .keys = length}, 0, cat("length ", length));
  for (const int width : {64, 128, 256}) {
    expect_biases({.heads = 1, .key_value_heads = 1, .queries = 100, .keys = 100, .width = width},
                  0, cat("width ", width));
  }
  for (const int keys : {100, 128, 191}) {
    const DeviceSizes sizes{
        .sequences = 2, .heads = 4, .key_value_heads = 2, .queries = 70, .keys = keys};
    for (const int documents : {0, 20})
      expect_biases(sizes, documents, cat(keys, " keys, documents of ", documents));
  }
}

// Learned slopes may turn. Rows beyond the last query, whose scores nothing bounds then, are not
// weighed: seen failing, with slopes that are no numbers, where their log-sum was 0.
TEST(DeviceBackward, TakesBiasesThatRiseWithTheDistance) {
  DeviceExample example({.queries = 200, .keys = 200});
  example.draw_falling_tables(-1.0F, 200);
  run_forward(example.work());
  run_backward(example.work());
  expect_gradients(example, "a rising bias");
}

// Rules of every part, for all heads and for each. Seen failing with the masks by query in the
// place of those by key.
TEST(DeviceBackward, TakesPatterns) {
  const std::int64_t begin[] = {0, 1, 3, 5, 7}, blocks[] = {0, 0, 1, 0, 2, 1, 3};
  const KeyRule window{{.window = 70}, {}}, near{{.window = 20, .global = 5}, {}},
      strided{{.window = 10, .stride = 90}, {}}, segments{{.segment = 100}, {}},
      columns{{.segment = 40, .period = 50, .columns = 3}, {}},
      listed{{.window = 1}, {begin, blocks, 4}}, dilated{{.window = 3, .dilation = 37}, {}};
  const auto holds = [](const DeviceSizes& sizes, const std::vector<KeyRule>& rules,
                        const std::string& what) {
    DeviceExample example(sizes);
    example.show(rules);
    run_forward(example.work());
    run_backward(example.work());
    expect_gradients(example, what);
  };
  const DeviceSizes sizes{.key_value_heads = 1, .queries = 200, .keys = 200};
  int turn = 0;
  for (const KeyRule& rule : {window, near, strided, segments, columns, listed, dilated}) {
    holds(sizes, {rule}, cat("rule ", turn++));
  }
  holds({.queries = 72, .keys = 200}, {near, listed}, "a cache and two rules");
  for (const int width : {128, 256})
    holds({.key_value_heads = 1, .queries = 200, .keys = 200, .width = width}, {listed, window},
          cat("width ", width));
}

// What the forward left out has no gradient, what it visited all of it; two runs are the same bits.
void expect_visited(int width, BiasKind kind) {
  SCOPED_TRACE(cat("heads of ", width, ", bias ", static_cast<int>(kind)));
  const DeviceSizes sizes{
      .heads = 2, .key_value_heads = 1, .queries = 512, .keys = 512, .width = width};
  DeviceExample example(sizes), again(sizes);
  const int rows = forward_rows<HostBlock>(sizes.width, kind);
  std::vector<std::int32_t> first(DeviceExample::at(2 * 512 / rows), -1);
  for (DeviceExample* one : {&example, &again}) {
    if (kind == BiasKind::kSlopes) one->slopes = {0.5F, 0.3F};
    if (kind == BiasKind::kTerms && one->terms.empty()) one->draw_terms(1);
    if (is_table(kind)) one->draw_falling_tables(0.5F, 512);
    if (kind == BiasKind::kShownTable) one->show({{{.window = 100, .stride = 7}, {}}});
    DeviceAttention a = one->work(34);
    a.first_BHM = first.data();
    a.first_rows = rows;
    run_forward(a);
    run_backward(a);
  }
  EXPECT_GT(first.back(), 2) << "blocks were left out";
  expect_gradients(example, "epsilon");
  EXPECT_EQ(example.q_gradient, again.q_gradient);
  EXPECT_EQ(example.k_gradient, again.k_gradient);
  EXPECT_EQ(example.v_gradient, again.v_gradient);
}

TEST(DeviceBackward, VisitsWhatTheForwardVisited) {
  for (const int width : {32, 96, 128, 192}) expect_visited(width, BiasKind::kSlopes);
  for (const BiasKind kind : {BiasKind::kTable, BiasKind::kTerms, BiasKind::kShownTable})
    expect_visited(32, kind);
}

}  // namespace
}  // namespace alibi
