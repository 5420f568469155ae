// Random numbers as pure functions of (key, counter): Philox4x32-10 (Salmon et al. 2011, SC'11).
//
// Nothing here has state, so a run's whole random state is its seed and its step, and the values do
// not depend on how work is spread over threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace alibi {

struct RandomKey {
  std::uint64_t value = 0;
  // A new, independent key: key.with("dropout").with(step).
  RandomKey with(std::uint64_t part) const;
  RandomKey with(std::string_view part) const;
};

// Four independent uniform 32-bit words for one counter.
std::array<std::uint32_t, 4> philox(RandomKey key, std::uint64_t counter_low,
                                    std::uint64_t counter_high = 0);

double uniform(RandomKey key, std::uint64_t counter);  // in [0, 1), 53 bits

// out[i] ~ Normal(mean 0, standard deviation), element i from counter i / 4.
void fill_normal(RandomKey key, double standard_deviation, std::span<float> out);

// out[i] = 0 with probability p, else 1 / (1 - p); row r takes its own counters, so that rows can
// be made in any order and in pieces. 0 <= p < 1.
void fill_dropout(RandomKey key, std::uint64_t row, double p, std::span<float> out);

// A permutation of 0 .. size-1 without a table (Feistel network with cycle walking).
class Permutation {
 public:
  Permutation(RandomKey key, std::uint64_t size);
  std::uint64_t operator()(std::uint64_t index) const;  // index < size

 private:
  std::uint64_t once(std::uint64_t index) const;
  RandomKey key_;
  std::uint64_t size_;
  unsigned half_bits_;
};

}  // namespace alibi
