#include "kernels/attention_blocks.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace alibi {
namespace {

void* at(const TiledAttention& a, const HeadRows<void>& of, std::int64_t sequence,
         std::int64_t head, std::int64_t row) {
  const std::int64_t bytes = a.ops->bf16_memory ? 2 : 4;
  return static_cast<char*>(of.data) + of.offset(sequence, head, row) * bytes;
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
std::int64_t larger(std::int64_t x, std::int64_t y) { return x > y ? x : y; }

// First visible keys of the block's queries, or null: all see from key 0.
const std::int64_t* starts_of(const TiledAttention& a, const BlockPlace& place) {
  if (a.first_BT == nullptr) return nullptr;
  return a.first_BT + place.sequence * a.sizes.queries + place.first_row;
}

// Positions from `first` to `last`.
struct Span {
  std::int64_t first, last;
};

Span keys_of(const TiledAttention& a, std::int64_t block) {
  const std::int64_t first = a.first_key(block);
  return {first, first + a.keys_of(block) - 1};
}

Span list_blocks(const Span& positions) {
  return {positions.first / kListBlock, positions.last / kListBlock};
}

Span queries_of(const BlockPlace& place) {
  return {place.first_query, place.first_query + place.rows - 1};
}

void prefetch(const TileRows& x, int number_bytes) {
  fetch_lines<0, 2>(x.data, x.stride * number_bytes, x.count, x.width * number_bytes);
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
  const float* slopes = a.bias.slopes_H;
  place.slope = slopes == nullptr ? 0.0F : static_cast<float>(slopes[place.head] * kLog2E);
  std::int64_t earliest = 0, latest = 0;  // of the rows' first keys
  place.ragged = place.rows < kTile;
  if (const std::int64_t* starts = starts_of(a, place)) {
    earliest = latest = starts[0];
    for (int i = 0; i < place.rows; ++i) {
      earliest = smaller(earliest, starts[i]);
      latest = larger(latest, starts[i]);
      place.ragged = place.ragged || starts[i] > 0;
    }
  }
  place.missing_keys = a.missing_keys();
  place.first_block = a.block_of(earliest);
  place.last_block = a.block_of(queries_of(place).last);
  place.rule = &a.rule_of(place.head);
  const KeyParts& parts = place.rule->parts;
  place.window_block =
      a.block_of(larger(earliest, place.first_query - (parts.window - 1) * parts.dilation));
  if (parts.segment > 0)
    place.segment_block = a.block_of(place.first_query / parts.segment * parts.segment);
  place.global_block =
      parts.global == 0 ? -1 : a.block_of(smaller(latest + parts.global, p.keys) - 1);
  return place;
}

namespace {

// Whether some query is a multiple of `step`, and less than `reach`, behind some key.
bool has_multiple(const Span& queries, const Span& keys, std::int64_t step, std::int64_t reach) {
  const std::int64_t least = larger(queries.first - keys.last, 0);
  const std::int64_t most = smaller(queries.last - keys.first, reach - 1);
  return most >= least && most / step * step >= least;
}

// The parts of a rule, one function each: the last block up to `block`, which is none behind the
// last, that holds a key which the part shows; below `place.first_block` where there is none.

std::int64_t last_of_window(const TiledAttention& a, const BlockPlace& place, std::int64_t block) {
  const KeyParts& parts = place.rule->parts;
  const std::int64_t step = parts.dilation, reach = parts.window * step;
  for (; block >= place.window_block; --block)
    if (step == 1 || has_multiple(queries_of(place), keys_of(a, block), step, reach)) return block;
  return -1;
}

std::int64_t last_of_stride(const TiledAttention& a, const BlockPlace& place, std::int64_t block) {
  const std::int64_t step = place.rule->parts.stride;
  while (block >= place.first_block &&
         !has_multiple(queries_of(place), keys_of(a, block), step, a.sizes.keys))
    --block;
  return block;
}

std::int64_t last_of_columns(const TiledAttention& a, const BlockPlace& place, std::int64_t block) {
  const KeyParts& parts = place.rule->parts;
  const std::int64_t last = smaller(keys_of(a, block).last, queries_of(place).last);
  const std::int64_t in_period = last % parts.period;
  const bool shown = in_period >= parts.period - parts.columns;
  const std::int64_t column = shown ? last : last - in_period - 1;
  return column < 0 ? -1 : a.block_of(column);
}

std::int64_t last_of_list(const TiledAttention& a, const BlockPlace& place, std::int64_t block) {
  const Span rows = list_blocks(queries_of(place));
  const std::int64_t end = list_blocks(keys_of(a, block)).last;
  std::int64_t listed = -1;
  for (std::int64_t row = rows.first; row <= rows.last; ++row)
    listed = larger(listed, place.rule->list.last_until(row, end));
  if (listed < 0) return -1;
  return smaller(block, a.block_of(listed * kListBlock + kListBlock - 1));
}

std::int64_t last_of_parts(const TiledAttention& a, const BlockPlace& place, std::int64_t block) {
  const KeyParts& parts = place.rule->parts;
  std::int64_t last = -1;
  const auto consider = [&](bool given, std::int64_t (*part)(const TiledAttention&,
                                                             const BlockPlace&, std::int64_t)) {
    if (given && last < block) last = larger(last, part(a, place, block));
  };
  if (parts.segment > 0 && block >= place.segment_block) last = block;
  last = larger(last, smaller(block, place.global_block));
  consider(parts.window > 0, last_of_window);
  consider(parts.columns > 0, last_of_columns);
  consider(place.rule->list.given(), last_of_list);
  consider(parts.stride > 0, last_of_stride);
  return last;
}

// Bits first .. last, as far as a tile has them.
std::uint64_t bits(std::int64_t first, std::int64_t last) {
  first = larger(first, 0);
  last = smaller(last, kTile - 1);
  if (first > last) return 0;
  return ~std::uint64_t{0} >> (kTile - 1 - (last - first)) << first;
}

std::uint64_t listed_bits(const BlockList& list, std::int64_t position, const Span& keys) {
  std::uint64_t seen = 0;
  const Span blocks = list_blocks(keys);
  for (std::int64_t block = blocks.first; block <= blocks.last; ++block) {
    const std::int64_t first = block * kListBlock - keys.first;
    if (list.holds(position / kListBlock, block)) seen |= bits(first, first + kListBlock - 1);
  }
  return seen;
}

// Every `step`-th bit of a tile, from the first on.
struct Comb {
  explicit Comb(std::int64_t every) : step(every) {
    for (std::int64_t n = 0; step > 0 && n < kTile; n += step) teeth |= std::uint64_t{1} << n;
  }
  // Those a multiple of `step` from bit `through`, which may lie outside.
  std::uint64_t meeting(std::int64_t through) const {
    const std::int64_t first = ((through % step) + step) % step;
    return first < kTile ? teeth << first : 0;
  }
  std::int64_t step;
  std::uint64_t teeth = 0;
};

// What a rule's parts show of one block of keys, query by query.
class ShownKeys {
 public:
  ShownKeys(const KeyRule& rule, const Span& keys)
      : rule_(rule), keys_(keys), dilated_(rule.parts.dilation), strided_(rule.parts.stride) {
    const KeyParts& parts = rule.parts;
    for (std::int64_t j = keys.first; parts.columns > 0 && j <= keys.last; ++j)
      if (j % parts.period >= parts.period - parts.columns)
        columns_ |= std::uint64_t{1} << (j - keys.first);
  }

  std::uint64_t to(std::int64_t position, std::int64_t start) const {
    const KeyParts& parts = rule_.parts;
    if (rule_.shows_all()) return ~std::uint64_t{0};
    const std::int64_t own = position - keys_.first;
    std::uint64_t shown = columns_;
    if (parts.window > 0) {
      const std::uint64_t near = bits(own - (parts.window - 1) * parts.dilation, own);
      shown |= parts.dilation == 1 ? near : near & dilated_.meeting(own);
    }
    if (parts.stride > 0) shown |= strided_.meeting(own);
    if (parts.segment > 0)
      shown |= bits(position / parts.segment * parts.segment - keys_.first, own);
    if (parts.global > 0)
      shown |= bits(start - keys_.first, start + parts.global - 1 - keys_.first);
    if (rule_.list.given()) shown |= listed_bits(rule_.list, position, keys_);
    return shown;
  }

 private:
  const KeyRule& rule_;
  const Span keys_;
  const Comb dilated_, strided_;
  std::uint64_t columns_ = 0;
};

// Whether one part alone shows every key of the block to every query, which all come later.
bool one_part_shows_all(const KeyRule& rule, const Span& queries, const Span& keys) {
  const KeyParts& parts = rule.parts;
  if (rule.shows_all()) return true;
  if (parts.dilation == 1 && queries.last - keys.first < parts.window) return true;
  if (keys.last < parts.global) return true;
  if (parts.segment > 0 && keys.first >= queries.last / parts.segment * parts.segment) return true;
  if (parts.columns > 0 && keys.last / parts.period == keys.first / parts.period &&
      keys.first % parts.period >= parts.period - parts.columns)
    return true;
  if (!rule.list.given()) return false;
  const Span rows = list_blocks(queries), columns = list_blocks(keys);
  for (std::int64_t row = rows.first; row <= rows.last; ++row)
    for (std::int64_t column = columns.first; column <= columns.last; ++column)
      if (!rule.list.holds(row, column)) return false;
  return true;
}

}  // namespace

namespace {

// A loop over numbers, which compilers turn into vectors, then one over bits.
void leave_out(const std::int64_t* numbers, const BlockPlace& place, const Span& keys,
               TileMask& mask) {
  const std::int64_t count = keys.last - keys.first + 1;
  for (int i = 0; i < place.rows; ++i) {
    const std::int64_t position = place.first_query + i, own = numbers[position];
    std::uint8_t near[kTile];
    for (std::int64_t c = 0; c < count; ++c)
      near[c] = static_cast<std::uint64_t>(own - numbers[keys.first + c]) <= 1;
    std::uint64_t hidden = 0;
    for (std::int64_t c = 0; c < count; ++c) hidden |= std::uint64_t{near[c]} << c;
    mask.rows[i] &= ~(hidden & bits(0, position - 1 - keys.first));
  }
}

}  // namespace

std::int64_t visible_until(const TiledAttention& a, const BlockPlace& place, std::int64_t block) {
  block = smaller(block, place.last_block);
  if (block >= place.first_block && !place.rule->shows_all())
    block = last_of_parts(a, place, block);
  return block < place.first_block ? -1 : block;
}

bool sees_some_of(const TiledAttention& a, const BlockPlace& place, std::int64_t key_block) {
  return key_block <= place.last_block && visible_until(a, place, key_block) == key_block;
}

bool sees_all_of(const TiledAttention& a, const BlockPlace& place, std::int64_t key_block) {
  const bool full = key_block > 0 || place.missing_keys == 0;
  if (!full || place.ragged || a.left_out_RBS != nullptr ||
      place.distance(key_block) + kTile - 1 > 0)
    return false;
  return one_part_shows_all(*place.rule, queries_of(place), keys_of(a, key_block));
}

TileMask block_mask(const TiledAttention& a, const BlockPlace& place, std::int64_t key_block) {
  TileMask mask = {};
  const Span keys = keys_of(a, key_block);
  const std::int64_t* starts = starts_of(a, place);
  const ShownKeys shown(*place.rule, keys);
  for (int i = 0; i < place.rows; ++i) {
    const std::int64_t position = place.first_query + i, start = starts == nullptr ? 0 : starts[i];
    mask.rows[i] = bits(start - keys.first, smaller(position, keys.last) - keys.first) &
                   shown.to(position, start);
  }
  for (std::int64_t round = 0; round < a.rounds_left_out; ++round)
    leave_out(a.left_out_RBS + (round * a.sizes.sequences + place.sequence) * a.sizes.keys, place,
              keys, mask);
  return mask;
}

// Quarters change places, in ever smaller squares.
TileMask transposed(const TileMask& mask) {
  TileMask out = mask;
  std::uint64_t low = 0xffffffffU;
  for (int side = kTile / 2; side > 0; side /= 2, low ^= low << side) {
    for (int r = 0; r < kTile; r = ((r | side) + 1) & ~side) {
      std::uint64_t &above = out.rows[r], &below = out.rows[r | side];
      const std::uint64_t change = (above >> side ^ below) & low;
      above ^= change << side;
      below ^= change;
    }
  }
  return out;
}

BlockBias::BlockBias(const TiledAttention& a, const BlockPlace& place) : a_(a), place_(place) {
  const TiledBias& bias = a.bias;
  if (bias.table_HL != nullptr) table_ = bias.table_HL + place.head * bias.distances;
  tile_ = {diagonals_, queries_, keys_};
  if (table_ == nullptr && bias.terms_BHS == nullptr) return;  // nothing of it is read
  std::memset(queries_, 0, sizeof queries_);
  std::memset(keys_, 0, sizeof keys_);
  if (bias.terms_BHS != nullptr) {
    terms_ = bias.terms_BHS + (place.sequence * a.sizes.heads + place.head) * a.sizes.keys;
    origin_ = terms_[place.first_query];
    for (int i = 0; i < place.rows; ++i)
      queries_[i] = static_cast<float>((terms_[place.first_query + i] - origin_) * kLog2E);
  }
}

const TileBias& BlockBias::tile(std::int64_t key_block, bool by_key) {
  fill_diagonals(place_.distance(key_block), by_key);
  if (terms_ != nullptr) fill_keys(key_block);
  return tile_;
}

// Element n is n - 63 columns to the right of the main diagonal.
void BlockBias::fill_diagonals(std::int64_t distance, bool by_key) {
  for (std::int64_t n = 0; n < 2 * kTile - 1; ++n) {
    const std::int64_t right = n - (kTile - 1);
    const std::int64_t back = larger((by_key ? right : -right) - distance, 0);  // i - j
    const float table = table_ == nullptr ? 0.0F : table_[smaller(back, a_.bias.distances - 1)];
    diagonals_[n] = table - place_.slope * static_cast<float>(back);
  }
}

void BlockBias::fill_keys(std::int64_t key_block) {
  const Span keys = keys_of(a_, key_block);
  for (std::int64_t j = keys.first; j <= keys.last; ++j)
    keys_[j - keys.first] = static_cast<float>((origin_ - terms_[j]) * kLog2E);
}

BiasBound BlockBias::bound() const {
  const TiledBias& bias = a_.bias;
  const float* reach = table_ == nullptr ? nullptr : bias.reach_HL + place_.head * bias.distances;
  return {place_.slope, reach, bias.distances, terms_ == nullptr ? nullptr : queries_};
}

KeyBound BlockBias::keys(std::int64_t key_block, float norm) const {
  return key_bound(key_block, norm, a_.bias.least_BHN);
}

KeyBound BlockBias::keys_so_far(std::int64_t key_block, float norm) const {
  return key_bound(key_block, norm, a_.bias.least_so_far_BHN);
}

KeyBound BlockBias::key_bound(std::int64_t key_block, float norm, const double* least_BHN) const {
  KeyBound bound{norm, place_.distance(key_block) + kTile - 1, 0};
  if (terms_ == nullptr) return bound;
  const std::int64_t head = place_.sequence * a_.sizes.heads + place_.head;
  const double least = least_BHN[head * a_.key_blocks() + key_block];
  bound.term = static_cast<float>((origin_ - least) * kLog2E);
  return bound;
}

void BlockBias::add_to_table(std::int64_t key_block, const float* diagonal_sums,
                             double* table) const {
  const std::int64_t distance = place_.distance(key_block);
  for (std::int64_t n = 0; n < 2 * kTile - 1; ++n) {
    const std::int64_t back = n - (kTile - 1) - distance;
    if (back >= 0) table[smaller(back, a_.bias.distances - 1)] += double{diagonal_sums[n]};
  }
}

TileRows query_rows(const TiledAttention& a, const HeadRows<void>& of, const BlockPlace& place) {
  return {at(a, of, place.sequence, place.head, place.first_row), of.row, place.rows,
          static_cast<int>(a.sizes.head_width)};
}

TileTarget query_target(const TiledAttention& a, const HeadRows<void>& of,
                        const BlockPlace& place) {
  return target_of(query_rows(a, of, place));
}

TileRows key_rows(const TiledAttention& a, const HeadRows<void>& of, std::int64_t unit,
                  std::int64_t block) {
  const std::int64_t groups = a.sizes.key_value_heads;
  return {at(a, of, unit / groups, unit % groups, a.first_key(block) - a.first_key_in_memory),
          of.row, static_cast<int>(a.keys_of(block)), static_cast<int>(a.sizes.head_width)};
}

TileTarget key_target(const TiledAttention& a, const HeadRows<void>& of, std::int64_t unit,
                      std::int64_t block) {
  return target_of(key_rows(a, of, unit, block));
}

void prefetch_for_write(const TileTarget& x, int number_bytes) {
  fetch_lines<1, 3>(x.data, x.stride * number_bytes, x.count, x.width * number_bytes);
}

void prefetch_keys(const TiledAttention& a, std::int64_t unit, std::int64_t block) {
  if (block >= a.key_blocks()) return;
  const int bytes = a.ops->bf16_memory ? 2 : 4;
  prefetch(key_rows(a, a.k, unit, block), bytes);
  prefetch(key_rows(a, a.v, unit, block), bytes);
}

void prefetch_queries(const TiledAttention& a, const BlockPlace& place) {
  const int bytes = a.ops->bf16_memory ? 2 : 4;
  prefetch(query_rows(a, a.q, place), bytes);
  if (a.output_gradient.data == nullptr) return;
  prefetch(query_rows(a, a.output_gradient, place), bytes);
  prefetch(query_rows(a, a.output, place), bytes);
}

void prefetch_block(const TiledAttention& a, std::int64_t unit, std::int64_t block) {
  prefetch_keys(a, unit, block);
  if (block < a.unit_query_blocks()) prefetch_queries(a, block_place(a, unit, block));
}

namespace {

// A NaN must not be skipped: it counts as larger than anything.
float largest(float x, float most) {
  if (std::isnan(x)) return std::numeric_limits<float>::infinity();
  return x > most ? x : most;
}

}  // namespace

float largest_norm(const TileOps& ops, const TileRows& rows) {
  float norms[kTile], most = 0;
  ops.pack->norms(rows, norms);
  for (const float norm : norms) most = largest(norm, most);
  return most;
}

void running_largest(const float* values, std::int64_t i, float* out) {
  out[i] = i == 0 ? values[0] : std::max(values[i], out[i - 1]);
}

}  // namespace alibi
