// A small attention problem in bf16, as the device's kernels get it, and the plain formula in fp64.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/cuda/larger.h"
#include "kernels/cuda/run_attention.h"
#include "model/shown_tiles.h"

namespace alibi {

struct DeviceSizes {
  int sequences = 1, heads = 2, key_value_heads = 2, queries = 64, keys = 64, width = 32;
};

// 16-bit rows aligned as LibTorch's are.
class DeviceTensor {
 public:
  DeviceTensor(int sequences, int heads, int length, int width)
      : heads_(heads), length_(length), width_(width) {
    const auto chunks = static_cast<std::size_t>(sequences * heads * length * width / 8);
    chunks_.resize(chunks == 0 ? 1 : chunks);
  }
  void draw(std::mt19937& generator, float size) {
    std::normal_distribution<float> normal(0, size);
    for (Chunk& chunk : chunks_)
      for (std::uint16_t& x : chunk.x) x = HostBlock::rounded(normal(generator));
  }
  DeviceRows rows() {
    return {chunks_.front().x, std::int64_t{1} * heads_ * length_ * width_,
            std::int64_t{1} * length_ * width_, width_};
  }
  double at(int b, int h, int i, int c) const {
    const auto index = static_cast<std::size_t>(((b * heads_ + h) * length_ + i) * width_ + c);
    return HostBlock::widened(chunks_[index / 8].x[index % 8]);
  }
  bool operator==(const DeviceTensor& other) const = default;

 private:
  struct alignas(16) Chunk {
    std::uint16_t x[8];
    bool operator==(const Chunk& other) const = default;
  };
  int heads_, length_, width_;
  std::vector<Chunk> chunks_;
};

class DeviceExample {
 public:
  explicit DeviceExample(const DeviceSizes& s, float size = 1)
      : sizes(s),
        q(s.sequences, s.heads, s.queries, s.width),
        k(s.sequences, s.key_value_heads, s.keys, s.width),
        v(s.sequences, s.key_value_heads, s.keys, s.width),
        output(s.sequences, s.heads, s.queries, s.width),
        output_gradient(s.sequences, s.heads, s.queries, s.width),
        q_gradient(s.sequences, s.heads, s.queries, s.width),
        k_gradient(s.sequences, s.key_value_heads, s.keys, s.width),
        v_gradient(s.sequences, s.key_value_heads, s.keys, s.width),
        delta(static_cast<std::size_t>(s.sequences * s.heads * s.queries), 777),
        lse(static_cast<std::size_t>(s.sequences * s.heads * s.queries), 777) {
    std::mt19937 generator(static_cast<unsigned>(s.queries + 7 * s.keys + 31 * s.width));
    for (DeviceTensor* tensor : {&q, &k, &v, &output_gradient}) tensor->draw(generator, size);
    scale = 1 / std::sqrt(static_cast<float>(s.width));
    for (int h = 0; h < s.heads; ++h)
      slopes.push_back(std::exp2(-8.0F * static_cast<float>(h + 1) / static_cast<float>(s.heads)));
  }

  // Documents of `length` tokens, the first of them begun before the first query.
  void cut_into_documents(int length) {
    start.clear();
    for (int b = 0; b < sizes.sequences; ++b) {
      for (int i = 0; i < sizes.queries; ++i)
        start.push_back((sizes.keys - sizes.queries + i + 3 * b) / length * length - 3 * b);
    }
    for (std::int64_t& first : start) first = first < 0 ? 0 : first;
  }

  // As the host's side gives it to the kernels; a threshold asks for the keys' norms first.
  DeviceAttention work(float threshold = -1) {
    constexpr float kLog2E = 1.44269504F;
    slopes_2.clear();
    for (const float slope : slopes) slopes_2.push_back(slope * kLog2E);
    DeviceAttention a;
    a.sequences = sizes.sequences;
    a.heads = sizes.heads;
    a.key_value_heads = sizes.key_value_heads;
    a.queries = sizes.queries;
    a.keys = sizes.keys;
    a.width = sizes.width;
    a.scale = scale * kLog2E;
    a.slopes_H = slopes_2.empty() ? nullptr : slopes_2.data();
    if (!tables.empty()) pad_tables(a, kLog2E);
    if (!terms.empty()) split_terms(a);
    if (!rules.empty()) {
      a.rules = static_cast<int>(rules.size());
      a.shown_until_RMN = tiles_.until_RMN.data();
      a.shown_from_RNM = tiles_.from_RNM.data();
      a.shown_RMN = tiles_.shown_RMN.data();
      a.shown_masks = tiles_.masks.data();
    }
    a.start_BT = start.empty() ? nullptr : start.data();
    a.q = q.rows();
    a.k = k.rows();
    a.v = v.rows();
    a.output = output.rows();
    a.lse_BHT = lse.data();
    a.output_gradient = output_gradient.rows();
    a.q_gradient = q_gradient.rows();
    a.k_gradient = k_gradient.rows();
    a.v_gradient = v_gradient.rows();
    a.delta_BHT = delta.data();
    a.threshold = threshold;
    if (threshold >= 0) measure_keys(a);
    return a;
  }

  // A bias by distance, other than a line and rising here and there; its last number is that of all
  // larger distances.
  void draw_tables(int distances) {
    std::mt19937 generator(static_cast<unsigned>(distances));
    std::normal_distribution<float> normal(0, 1);
    slopes.clear();
    tables.assign(at(sizes.heads), {});
    for (std::vector<float>& table : tables) {
      for (int d = 0; d < distances; ++d)
        table.push_back(normal(generator) - 0.02F * static_cast<float>(d));
    }
  }
  // The line of a slope as a table.
  void draw_falling_tables(float slope, int distances) {
    slopes.clear();
    tables.assign(at(sizes.heads), {});
    for (std::vector<float>& table : tables)
      for (int d = 0; d < distances; ++d) table.push_back(-slope * static_cast<float>(d));
  }
  // Terms that have come far from 0 and fall by `step` and less a token.
  void draw_terms(double step = 0.1) {
    std::mt19937 generator(9);
    std::uniform_real_distribution<double> some(0, step);
    slopes.clear();
    for (int head = 0; head < sizes.sequences * sizes.heads; ++head) {
      double sum = -1e5;
      for (int j = 0; j < sizes.keys; ++j) terms.push_back(sum -= some(generator));
    }
  }
  // One rule, or one for each head, with a table beside where nothing else is.
  void show(std::vector<KeyRule> given) {
    rules = std::move(given);
    if (tables.empty()) draw_tables(50);
    tiles_ = shown_tiles(rules, sizes.queries, sizes.keys);
  }
  int masks() const { return static_cast<int>(tiles_.masks.size()) / (2 * kKeyBlock); }
  // The description word by word (kernels/visible_keys.h).
  bool shows(int h, int position, int key) const {
    if (rules.empty()) return true;
    const KeyRule& rule = rules[rules.size() == 1 ? 0 : at(h)];
    const KeyParts& p = rule.parts;
    const int d = position - key;
    if (rule.shows_all()) return true;
    return (d < p.window * p.dilation && d % p.dilation == 0) ||
           (p.stride > 0 && d % p.stride == 0) ||
           (p.segment > 0 && position / p.segment == key / p.segment) ||
           (p.period > 0 && key % p.period >= p.period - p.columns) || key < p.global ||
           (rule.list.given() && rule.list.holds(position / kKeyBlock, key / kKeyBlock));
  }
  double bias(int b, int h, int position, int key) const {
    double sum = slopes.empty() ? 0 : double{slopes[at(h)]} * (key - position);
    if (!tables.empty()) {
      const std::vector<float>& table = tables[at(h)];
      sum += double{table[std::min(at(position - key), table.size() - 1)]};
    }
    if (!terms.empty()) sum += term(b, h, position) - term(b, h, key);
    return sum;
  }
  // What a run's backward left of a bias by distance, over sequences: that of distance d.
  double table_gradient(int h, int d) const {
    DeviceAttention a;
    a.queries = sizes.queries;
    a.keys = sizes.keys;
    double sum = 0;
    for (int b = 0; b < sizes.sequences; ++b) {
      for (int x = 0; x < a.distance_blocks(); ++x) {
        const int u = d - first_distance(a, x);
        if (u < 0 || u >= 2 * kKeyBlock) continue;
        const int block = (b * sizes.heads + h) * a.distance_blocks() + x;
        sum += double{distance_gradient[at(block * 2 * kKeyBlock + u)]};
      }
    }
    return sum;
  }

  // The plain formula's row i of head h: its weights from key `first` on, and the log of their sum.
  struct PlainRow {
    int first = 0;
    std::vector<double> weights, output;
    double log_sum = 0;
  };
  int kv_head(int h) const { return h / (sizes.heads / sizes.key_value_heads); }
  PlainRow plain(int b, int h, int i) const {
    const int kv = kv_head(h), position = sizes.keys - sizes.queries + i;
    PlainRow row;
    row.first = start.empty() ? 0 : static_cast<int>(start[at(b * sizes.queries + i)]);
    double most = -INFINITY, sum = 0;
    for (int j = row.first; j <= position; ++j) {
      double score = 0;
      for (int c = 0; c < sizes.width; ++c) score += q.at(b, h, i, c) * k.at(b, kv, j, c);
      score *= scale;
      score = shows(h, position, j) ? score + bias(b, h, position, j) : -INFINITY;
      row.weights.push_back(score);
      most = std::max(most, score);
    }
    for (const double score : row.weights) sum += std::exp(score - most);
    row.log_sum = most + std::log(sum);
    row.output.resize(at(sizes.width));
    for (std::size_t n = 0; n < row.weights.size(); ++n) {
      row.weights[n] = std::exp(row.weights[n] - row.log_sum);
      for (int c = 0; c < sizes.width; ++c)
        row.output[at(c)] += row.weights[n] * v.at(b, kv, row.first + static_cast<int>(n), c);
    }
    return row;
  }
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  // Of c: (B, H, S).
  std::vector<double> term_gradient() const {
    std::vector<double> sums(key_term_gradient.begin(), key_term_gradient.end());
    for (int head = 0; head < sizes.sequences * sizes.heads; ++head) {
      for (int i = 0; i < sizes.queries; ++i)
        sums[at((head + 1) * sizes.keys - sizes.queries + i)] +=
            double{query_term_gradient[at(head * sizes.queries + i)]};
    }
    return sums;
  }

  DeviceSizes sizes;
  DeviceTensor q, k, v, output, output_gradient, q_gradient, k_gradient, v_gradient;
  std::vector<float> delta, lse, slopes, reach, distance_gradient, query_term_gradient,
      key_term_gradient;
  std::vector<std::vector<float>> tables;  // by head and distance; empty: none
  std::vector<double> terms;               // (B, H, S); empty: none
  std::vector<KeyRule> rules;              // empty: all is shown
  std::vector<std::int64_t> start;
  float scale = 1;

 private:
  void measure_keys(DeviceAttention& a) {
    const auto count = static_cast<std::size_t>(a.sequences * a.key_value_heads * a.key_blocks());
    reach.assign(count, -1);
    run_key_reach(a, reach.data());
    a.reach_BGN = reach.data();
  }

  double term(int b, int h, int key) const {
    return terms[at((b * sizes.heads + h) * sizes.keys + key)];
  }
  static TermPair split(double x) {
    const auto high = static_cast<float>(x);
    return {high, static_cast<float>(x - double{high})};
  }

  void pad_tables(DeviceAttention& a, float unit) {
    padded_.clear();
    for (const std::vector<float>& table : tables) {
      for (int p = 0; p < a.table_length(); ++p)
        padded_.push_back(table[std::min(at(std::max(p - kTableBefore, 0)), table.size() - 1)] *
                          unit);
    }
    padded_reach_ = padded_;
    for (int p = static_cast<int>(padded_.size()) - 2; p >= 0; --p)
      if ((p + 1) % a.table_length() != 0)
        padded_reach_[at(p)] = std::max(padded_reach_[at(p)], padded_reach_[at(p + 1)]);
    a.table_HP = padded_.data();
    a.table_reach_HP = padded_reach_.data();
    distance_gradient.assign(at(a.sequences * a.heads * a.distance_blocks() * 2 * kKeyBlock), 777);
    a.distance_gradient_BHXU = distance_gradient.data();
  }

  void split_terms(DeviceAttention& a) {
    constexpr double kLog2E = 1.4426950408889634;
    pairs_.clear();
    near_.clear();
    least_.clear();
    for (int head = 0; head < a.sequences * a.heads; ++head) {
      double least = INFINITY;
      for (int j = 0; j < a.key_blocks() * kKeyBlock; ++j) {
        const double* const c = &terms[at(head * a.keys)];
        const double first = c[j / kKeyBlock * kKeyBlock];
        near_.push_back(j < a.keys ? static_cast<float>((c[j] - first) * kLog2E) : INFINITY);
        if (j < a.keys) pairs_.push_back(split(c[j] * kLog2E));
        if (j < a.keys) least = std::min(least, c[j] * kLog2E);
        if (j % kKeyBlock == kKeyBlock - 1) least_.push_back(split(least));
      }
    }
    a.terms_BHS = pairs_.data();
    a.near_BHS = near_.data();
    a.least_BHN = least_.data();
    query_term_gradient.assign(at(a.sequences * a.heads * a.queries), 777);
    a.query_term_gradient_BHT = query_term_gradient.data();
    key_term_gradient.assign(terms.size(), 0);
    a.key_term_gradient_BHS = key_term_gradient.data();
  }

  std::vector<float> slopes_2, padded_, padded_reach_, near_;
  std::vector<TermPair> pairs_, least_;
  ShownTiles tiles_;
};

}  // namespace alibi
