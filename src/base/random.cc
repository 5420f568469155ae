#include "base/random.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "base/dropout_rule.h"
#include "base/error.h"

namespace alibi {
namespace {

std::uint64_t mix(std::uint64_t x) {  // finaliser of SplitMix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Uniform in (0, 1]: the logarithm of Box-Muller never sees zero.
double open_uniform(std::uint32_t word) { return (static_cast<double>(word) + 1.0) * 0x1p-32; }

std::array<double, 4> four_normals(RandomKey key, std::uint64_t counter) {
  const auto words = philox(key, counter);
  std::array<double, 4> values{};
  for (std::size_t pair = 0; pair < 4; pair += 2) {
    const double radius = std::sqrt(-2.0 * std::log(open_uniform(words[pair])));
    const double angle = 2.0 * std::numbers::pi * open_uniform(words[pair + 1]);
    values[pair] = radius * std::cos(angle);
    values[pair + 1] = radius * std::sin(angle);
  }
  return values;
}

}  // namespace

RandomKey RandomKey::with(std::uint64_t part) const { return {mix(value ^ mix(part))}; }

RandomKey RandomKey::with(std::string_view part) const {
  std::uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a
  for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return with(hash);
}

std::array<std::uint32_t, 4> philox(RandomKey key, std::uint64_t counter_low,
                                    std::uint64_t counter_high) {
  std::array<std::uint32_t, 4> c = {
      static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32),
      static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32)};
  auto k0 = static_cast<std::uint32_t>(key.value);
  auto k1 = static_cast<std::uint32_t>(key.value >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = 0xd2511f53ull * c[0];
    const std::uint64_t product1 = 0xcd9e8d57ull * c[2];
    c = {static_cast<std::uint32_t>(product1 >> 32) ^ c[1] ^ k0,
         static_cast<std::uint32_t>(product1),
         static_cast<std::uint32_t>(product0 >> 32) ^ c[3] ^ k1,
         static_cast<std::uint32_t>(product0)};
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return c;
}

double uniform(RandomKey key, std::uint64_t counter) {
  const auto words = philox(key, counter);
  const std::uint64_t bits = (std::uint64_t{words[0]} << 21) ^ (words[1] >> 11);
  return static_cast<double>(bits) * 0x1p-53;
}

void fill_normal(RandomKey key, double standard_deviation, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); i += 4) {
    const auto values = four_normals(key, i / 4);
    for (std::size_t j = 0; j < 4 && i + j < out.size(); ++j) {
      out[i + j] = static_cast<float>(standard_deviation * values[j]);
    }
  }
}

void fill_dropout(RandomKey key, std::uint64_t row, double p, std::span<float> out) {
  const DropoutRule rule(p);
  for (std::size_t i = 0; i < out.size(); i += 4) {
    const auto words = philox(key, i / 4, row);
    for (std::size_t j = 0; j < 4 && i + j < out.size(); ++j) {
      out[i + j] = words[j] < rule.dropped_below ? 0.0f : rule.kept;
    }
  }
}

Permutation::Permutation(RandomKey key, std::uint64_t size) : key_(key), size_(size) {
  ensure(size > 0, "a permutation has elements");
  const auto bits = static_cast<unsigned>(std::bit_width(size - 1));
  half_bits_ = bits < 2 ? 1 : (bits + 1) / 2;
}

std::uint64_t Permutation::once(std::uint64_t index) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = index >> half_bits_;
  std::uint64_t right = index & mask;
  for (std::uint64_t round = 0; round < 4; ++round) {
    const std::uint64_t next = left ^ (mix(key_.value ^ mix(right * 4 + round)) & mask);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  ensure(index < size_, "an index lies inside its permutation");
  std::uint64_t value = once(index);
  // The network permutes a power of four above size; walking its cycle returns inside the range.
  while (value >= size_) value = once(value);
  return value;
}

}  // namespace alibi
