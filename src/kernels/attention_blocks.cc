#include "kernels/attention_blocks.h"

#include <cmath>
#include <limits>

namespace alibi {
namespace {

constexpr double kLog2E = 1.4426950408889634;

void* at(const TiledAttention& a, const HeadRows& of, std::int64_t sequence, std::int64_t head,
         std::int64_t row) {
  const std::int64_t bytes = a.ops->bf16_memory ? 2 : 4;
  return static_cast<char*>(of.data) +
         (sequence * of.sequence + head * of.head + row * of.row) * bytes;
}

std::int64_t smaller(std::int64_t x, std::int64_t y) { return x < y ? x : y; }

// First and last visible key of each query, counted from the first query.
void look(const TiledAttention& a, BlockPlace& place) {
  std::int64_t earliest = place.first_query;
  place.ragged = place.rows < kTile;
  for (int i = 0; i < kTile; ++i) {
    const std::int64_t* starts = a.document_start_BT;
    const std::int64_t start = starts == nullptr || i >= place.rows
                                   ? 0
                                   : starts[place.sequence * a.sizes.queries + place.first_row + i];
    place.sight.first[i] = static_cast<std::int32_t>(start - place.first_query);
    place.sight.last[i] = i < place.rows ? i : place.sight.first[i] - 1;
    if (i < place.rows) earliest = smaller(earliest, start);
    place.ragged = place.ragged || start > 0;
  }
  place.first_block = earliest / kTile;
  place.last_block = (place.first_query + place.rows - 1) / kTile;
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
  look(a, place);
  return place;
}

TileRows query_rows(const TiledAttention& a, const HeadRows& of, const BlockPlace& place) {
  return {at(a, of, place.sequence, place.head, place.first_row), of.row, place.rows,
          static_cast<int>(a.sizes.head_width)};
}

TileTarget query_target(const TiledAttention& a, const HeadRows& of, const BlockPlace& place) {
  return {at(a, of, place.sequence, place.head, place.first_row), of.row, place.rows,
          static_cast<int>(a.sizes.head_width)};
}

TileRows key_rows(const TiledAttention& a, const HeadRows& of, std::int64_t unit,
                  std::int64_t block) {
  const std::int64_t groups = a.sizes.key_value_heads;
  return {at(a, of, unit / groups, unit % groups, block * kTile), of.row,
          static_cast<int>(smaller(kTile, a.sizes.keys - block * kTile)),
          static_cast<int>(a.sizes.head_width)};
}

TileTarget key_target(const TiledAttention& a, const HeadRows& of, std::int64_t unit,
                      std::int64_t block) {
  const TileRows rows = key_rows(a, of, unit, block);
  return {const_cast<void*>(rows.data), rows.stride, rows.count, rows.width};
}

namespace {

// A NaN must not be skipped: it counts as larger than anything.
float larger(float x, float most) {
  if (std::isnan(x)) return std::numeric_limits<float>::infinity();
  return x > most ? x : most;
}

}  // namespace

float largest(const float* values) {
  float most = 0;
  for (int i = 0; i < kTile; ++i) most = larger(values[i], most);
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
