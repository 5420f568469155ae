#include "kernels/attention_blocks.h"

#include <cmath>
#include <limits>

namespace alibi {
namespace {

void* at(const TiledAttention& a, const HeadRows& of, std::int64_t sequence, std::int64_t head,
         std::int64_t row) {
  const std::int64_t bytes = a.ops->bf16_memory ? 2 : 4;
  return static_cast<char*>(of.data) +
         (sequence * of.sequence + head * of.head + row * of.row) * bytes;
}

// The memory of HeadRows may be written; TileRows only promises not to.
TileTarget target_of(const TileRows& rows) {
  return {const_cast<void*>(rows.data), rows.stride, rows.count, rows.width};
}

// Level 2 for what is read later, the nearest for what is written soon.
template <int kWrite, int kNearness>
void fetch_lines(const void* data, std::int64_t stride_bytes, int count, int width_bytes) {
  for (int row = 0; row < count; ++row) {
    const char* start = static_cast<const char*>(data) + row * stride_bytes;
    for (int i = 0; i < width_bytes; i += 64) __builtin_prefetch(start + i, kWrite, kNearness);
  }
}

std::int64_t smaller(std::int64_t x, std::int64_t y) { return x < y ? x : y; }

// First visible keys of the block's queries, or null: all see from key 0.
const std::int64_t* starts_of(const TiledAttention& a, const BlockPlace& place) {
  if (a.document_start_BT == nullptr) return nullptr;
  return a.document_start_BT + place.sequence * a.sizes.queries + place.first_row;
}

}  // namespace

BlockPlace block_place(const TiledAttention& a, std::int64_t unit, std::int64_t block) {
  const AttentionProblem& p = a.sizes;
  BlockPlace place;
  place.sequence = unit / p.key_value_heads;
  place.head = unit % p.key_value_heads * a.group() + block / a.query_blocks();
  place.first_row = block % a.query_blocks() * kTile;
  place.rows = static_cast<int>(smaller(kTile, p.queries - place.first_row));
  const std::int64_t head = place.sequence * p.heads + place.head;
  place.row = head * p.queries + place.first_row;
  place.index = head * a.query_blocks() + block % a.query_blocks();
  place.first_query = p.keys - p.queries + place.first_row;
  place.scale = static_cast<float>(a.scale * kLog2E);
  place.slope = a.slopes_H == nullptr ? 0.0F : static_cast<float>(a.slopes_H[place.head] * kLog2E);
  std::int64_t earliest = 0;
  place.ragged = place.rows < kTile;
  if (const std::int64_t* starts = starts_of(a, place)) {
    earliest = starts[0];
    for (int i = 0; i < place.rows; ++i) {
      earliest = smaller(earliest, starts[i]);
      place.ragged = place.ragged || starts[i] > 0;
    }
  }
  place.missing_keys = a.missing_keys();
  place.first_block = a.block_of(earliest);
  place.last_block = a.block_of(place.first_query + place.rows - 1);
  return place;
}

TileSight block_sight(const TiledAttention& a, const BlockPlace& place, std::int64_t key_block) {
  TileSight sight;
  const auto end = place.distance(key_block) + static_cast<std::int32_t>(a.keys_of(key_block)) - 1;
  const std::int64_t* starts = starts_of(a, place);
  for (int i = 0; i < kTile; ++i) {
    const std::int64_t start = starts == nullptr || i >= place.rows ? 0 : starts[i];
    sight.first[i] = static_cast<std::int32_t>(start - place.first_query);
    sight.last[i] = i < end ? i : end;
  }
  for (int i = place.rows; i < kTile; ++i) sight.last[i] = sight.first[i] - 1;
  return sight;
}

TileRows query_rows(const TiledAttention& a, const HeadRows& of, const BlockPlace& place) {
  return {at(a, of, place.sequence, place.head, place.first_row), of.row, place.rows,
          static_cast<int>(a.sizes.head_width)};
}

TileTarget query_target(const TiledAttention& a, const HeadRows& of, const BlockPlace& place) {
  return target_of(query_rows(a, of, place));
}

TileRows key_rows(const TiledAttention& a, const HeadRows& of, std::int64_t unit,
                  std::int64_t block) {
  const std::int64_t groups = a.sizes.key_value_heads;
  return {at(a, of, unit / groups, unit % groups, a.first_key(block) - a.first_key_in_memory),
          of.row, static_cast<int>(a.keys_of(block)), static_cast<int>(a.sizes.head_width)};
}

TileTarget key_target(const TiledAttention& a, const HeadRows& of, std::int64_t unit,
                      std::int64_t block) {
  return target_of(key_rows(a, of, unit, block));
}

void prefetch(const TileRows& x, int number_bytes) {
  fetch_lines<0, 2>(x.data, x.stride * number_bytes, x.count, x.width * number_bytes);
}

void prefetch_for_write(const TileTarget& x, int number_bytes) {
  fetch_lines<1, 3>(x.data, x.stride * number_bytes, x.count, x.width * number_bytes);
}

void prefetch_block(const TiledAttention& a, std::int64_t unit, std::int64_t block) {
  const int bytes = a.ops->bf16_memory ? 2 : 4;
  if (block < a.key_blocks()) {
    prefetch(key_rows(a, a.k, unit, block), bytes);
    prefetch(key_rows(a, a.v, unit, block), bytes);
  }
  if (block >= a.unit_query_blocks()) return;
  const BlockPlace place = block_place(a, unit, block);
  prefetch(query_rows(a, a.q, place), bytes);
  if (a.output_gradient.data == nullptr) return;
  prefetch(query_rows(a, a.output_gradient, place), bytes);
  prefetch(query_rows(a, a.output, place), bytes);
}

namespace {

// A NaN must not be skipped: it counts as larger than anything.
float larger(float x, float most) {
  if (std::isnan(x)) return std::numeric_limits<float>::infinity();
  return x > most ? x : most;
}

}  // namespace

float largest_norm(const TileOps& ops, const TileRows& rows) {
  float norms[kTile], most = 0;
  ops.pack->norms(rows, norms);
  for (const float norm : norms) most = larger(norm, most);
  return most;
}

void running_largest(const float* values, std::int64_t count, float* out) {
  float most = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    most = larger(values[i], most);
    out[i] = most;
  }
}

}  // namespace alibi
