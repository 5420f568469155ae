#include "kernels/cuda/ptx/attention_bounds.h"

#include <algorithm>
#include <limits>

namespace alibi {
namespace {

constexpr double kRounding = 0x1p-8 * 1.02;
constexpr double kSmall = 1e-5;  // of fp32 sums, relative to the sum of their parts

using Row = std::vector<double>;

Row row_of(const DeviceTensor& tensor, int b, int h, int i, int width) {
  Row row(DeviceExample::at(width));
  for (int c = 0; c < width; ++c) row[DeviceExample::at(c)] = tensor.at(b, h, i, c);
  return row;
}

// to += factor x, and the bound by `bound` |x|.
void add(BoundedNumbers& to, std::size_t first, const Row& x, double factor, double bound) {
  for (std::size_t c = 0; c < x.size(); ++c) {
    to.values[first + c] += factor * x[c];
    to.bounds[first + c] += bound * std::abs(x[c]);
  }
}

void add_rounding(BoundedNumbers& to) {
  for (std::size_t i = 0; i < to.values.size(); ++i)
    to.bounds[i] += kRounding * std::abs(to.values[i]) + 1e-9;
}

std::size_t count(const DeviceSizes& s, int heads, int length) {
  return DeviceExample::at(s.sequences * heads * length * s.width);
}

double in_bounds(double difference, double bound) {
  if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
  return std::abs(difference) / bound;
}

double worst_of(const BoundedNumbers& expected, const DeviceTensor& found, const DeviceSizes& s,
                int heads, int length) {
  double worst = 0;
  std::size_t at = 0;
  for (int b = 0; b < s.sequences; ++b) {
    for (int h = 0; h < heads; ++h) {
      for (int i = 0; i < length; ++i) {
        for (int c = 0; c < s.width; ++c, ++at)
          worst = std::max(
              worst, in_bounds(found.at(b, h, i, c) - expected.values[at], expected.bounds[at]));
      }
    }
  }
  return worst;
}

class Sums {
 public:
  Sums(const DeviceExample& example, BoundedAttention& to) : e_(example), s_(e_.sizes), to_(to) {}

  void head(int b, int h) {
    const int kv = e_.kv_head(h);
    keys_.clear();
    values_.clear();
    for (int j = 0; j < s_.keys; ++j) {
      keys_.push_back(row_of(e_.k, b, kv, j, s_.width));
      values_.push_back(row_of(e_.v, b, kv, j, s_.width));
    }
    for (int i = 0; i < s_.queries; ++i) query(b, h, i);
  }

 private:
  std::size_t place(int heads, int length, int b, int h, int i) const {
    return DeviceExample::at(((b * heads + h) * length + i) * s_.width);
  }

  void query(int b, int h, int i) {
    const DeviceExample::PlainRow plain = e_.plain(b, h, i);
    const Row query = row_of(e_.q, b, h, i, s_.width);
    const Row gradient = row_of(e_.output_gradient, b, h, i, s_.width);
    const std::size_t at = place(s_.heads, s_.queries, b, h, i);
    to_.lse.values[at / DeviceExample::at(s_.width)] = plain.log_sum;
    to_.lse.bounds[at / DeviceExample::at(s_.width)] = 2e-5;
    for (std::size_t n = 0; n < plain.weights.size(); ++n) {
      const double weight = plain.weights[n];
      add(to_.output, at, values_[DeviceExample::at(plain.first) + n], weight, kRounding * weight);
    }
    double delta = 0, delta_bound = 0;
    for (std::size_t c = 0; c < gradient.size(); ++c) {
      const double output = to_.output.values[at + c], size = std::abs(gradient[c]);
      delta += output * gradient[c];
      delta_bound += (to_.output.bounds[at + c] + kRounding * std::abs(output) + kSmall) * size;
    }
    for (std::size_t n = 0; n < plain.weights.size(); ++n)
      gradients(b, h, i, plain.first + static_cast<int>(n), plain.weights[n],
                {query, gradient, delta, delta_bound});
  }

  struct Query {
    const Row &query, &gradient;
    double delta, delta_bound;
  };
  void gradients(int b, int h, int i, int j, double weight, const Query& of) {
    const Row& key = keys_[DeviceExample::at(j)];
    const Row& value = values_[DeviceExample::at(j)];
    double product = 0;
    for (std::size_t c = 0; c < value.size(); ++c) product += of.gradient[c] * value[c];
    const double of_score = weight * (product - of.delta), change = of_score * e_.scale;
    const double score_bound =
        weight * of.delta_bound * 1.02 + kSmall * weight * (std::abs(product) + std::abs(of.delta));
    const int behind = s_.keys - s_.queries + i - j;
    add(to_.distances, DeviceExample::at(h * s_.keys + behind), {1}, of_score, score_bound);
    const int terms = (b * s_.heads + h) * s_.keys;
    add(to_.terms, DeviceExample::at(terms + j), {1}, -of_score, score_bound);
    add(to_.terms, DeviceExample::at(terms + behind + j), {1}, of_score, score_bound);
    const double bound = kRounding * std::abs(change) + weight * of.delta_bound * 1.02 * e_.scale;
    const std::size_t q = place(s_.heads, s_.queries, b, h, i);
    const std::size_t k = place(s_.key_value_heads, s_.keys, b, e_.kv_head(h), j);
    add(to_.q_gradient, q, key, change, bound);
    add(to_.k_gradient, k, of.query, change, bound);
    add(to_.v_gradient, k, of.gradient, weight, kRounding * weight);
  }

  const DeviceExample& e_;
  const DeviceSizes& s_;
  BoundedAttention& to_;
  std::vector<Row> keys_, values_;
};

}  // namespace

BoundedAttention::BoundedAttention(const DeviceExample& example)
    : output(count(example.sizes, example.sizes.heads, example.sizes.queries)),
      q_gradient(output.values.size()),
      k_gradient(count(example.sizes, example.sizes.key_value_heads, example.sizes.keys)),
      v_gradient(k_gradient.values.size()),
      lse(output.values.size() / DeviceExample::at(example.sizes.width)),
      distances(DeviceExample::at(example.sizes.heads * example.sizes.keys)),
      terms(distances.values.size() * DeviceExample::at(example.sizes.sequences)) {
  Sums sums(example, *this);
  for (int b = 0; b < example.sizes.sequences; ++b) {
    for (int h = 0; h < example.sizes.heads; ++h) sums.head(b, h);
  }
  for (BoundedNumbers* numbers : {&output, &q_gradient, &k_gradient, &v_gradient})
    add_rounding(*numbers);
  for (BoundedNumbers* numbers : {&distances, &terms})
    for (double& bound : numbers->bounds) bound += 1e-6;
}

double BoundedAttention::worst_forward(const DeviceExample& found) const {
  const DeviceSizes& s = found.sizes;
  double worst = worst_of(output, found.output, s, s.heads, s.queries);
  for (std::size_t i = 0; i < lse.values.size(); ++i)
    worst = std::max(worst, in_bounds(found.lse[i] - lse.values[i], lse.bounds[i]));
  return worst;
}

double BoundedAttention::worst_backward(const DeviceExample& found) const {
  const DeviceSizes& s = found.sizes;
  double worst = std::max({worst_of(q_gradient, found.q_gradient, s, s.heads, s.queries),
                           worst_of(k_gradient, found.k_gradient, s, s.key_value_heads, s.keys),
                           worst_of(v_gradient, found.v_gradient, s, s.key_value_heads, s.keys)});
  for (int h = 0; h < s.heads && !found.tables.empty(); ++h) {
    for (int d = 0; d < s.keys; ++d) {
      const std::size_t at = DeviceExample::at(h * s.keys + d);
      worst = std::max(worst, in_bounds(found.table_gradient(h, d) - distances.values[at],
                                        distances.bounds[at]));
    }
  }
  if (found.terms.empty()) return worst;
  const std::vector<double> of_terms = found.term_gradient();
  for (std::size_t i = 0; i < terms.values.size(); ++i)
    worst = std::max(worst, in_bounds(of_terms[i] - terms.values[i], terms.bounds[i]));
  return worst;
}

}  // namespace alibi
