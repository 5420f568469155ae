// A small attention problem in bf16, as the device's kernels get it, and the plain formula in fp64.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "kernels/cuda/run_attention.h"

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
      if (!slopes.empty()) score += double{slopes[at(h)]} * (j - position);
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

  DeviceSizes sizes;
  DeviceTensor q, k, v, output, output_gradient, q_gradient, k_gradient, v_gradient;
  std::vector<float> delta, lse, slopes, reach;
  std::vector<std::int64_t> start;
  float scale = 1;

 private:
  void measure_keys(DeviceAttention& a) {
    const auto count = static_cast<std::size_t>(a.sequences * a.key_value_heads * a.key_blocks());
    reach.assign(count, -1);
    run_key_reach(a, reach.data());
    a.reach_BGN = reach.data();
  }

  std::vector<float> slopes_2;
};

}  // namespace alibi
