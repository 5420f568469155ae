#include "kernels/decode_attention.h"

#include <algorithm>
#include <cstring>

#include "kernels/attention_blocks.h"

namespace alibi {
namespace {

std::int64_t number_bytes(const DecodeAttention& a) { return a.ops->bf16_memory ? 2 : 4; }

// Where the row of a position and head begins, in numbers.
template <class Number>
std::int64_t place_of(const PagedKeys& keys, const HeadRows<Number>& rows, std::int64_t position,
                      std::int64_t head) {
  return rows.offset(keys.pages[position / keys.page_rows], head, position % keys.page_rows);
}

// The rows of positions first ... first + count - 1 of one head.
void find_rows(const PagedKeys& keys, const HeadRows<void>& rows, std::int64_t head,
               std::int64_t bytes, std::int64_t first, std::int64_t count, const void** found) {
  std::int64_t page = first / keys.page_rows, row = first % keys.page_rows;
  for (std::int64_t n = 0; n < count; ++page, row = 0) {
    const char* at =
        static_cast<const char*>(rows.data) + rows.offset(keys.pages[page], head, row) * bytes;
    const std::int64_t end = std::min(count, n + keys.page_rows - row);
    for (; n < end; ++n, at += rows.row * bytes) found[n] = at;
  }
}

// Of one sequence, head and new position.
char* row_at(const DecodeAttention& a, const HeadRows<void>& rows, std::int64_t b,
             std::int64_t head, std::int64_t t) {
  return static_cast<char*>(rows.data) + rows.offset(b, head, t) * number_bytes(a);
}

void write_new(const DecodeAttention& a, const PagedKeys& keys, std::int64_t b, std::int64_t g) {
  const std::int64_t bytes = number_bytes(a);
  for (std::int64_t t = 0; t < a.queries; ++t) {
    const auto write = [&](const HeadRows<void>& to, const HeadRows<void>& from) {
      const std::int64_t place = place_of(keys, to, keys.positions - a.queries + t, g);
      std::memcpy(static_cast<char*>(to.data) + place * bytes, row_at(a, from, b, g, t),
                  static_cast<std::size_t>(a.head_width * bytes));
    };
    write(keys.k, a.k);
    write(keys.v, a.v);
  }
}

// Terms go on from the last one before the new positions.
void write_terms(const DecodeAttention& a, const PagedKeys& keys, std::int64_t b,
                 std::int64_t head) {
  const auto term = [&](std::int64_t position) -> double& {
    return keys.terms.data[place_of(keys, keys.terms, position, head)];
  };
  const std::int64_t first = keys.positions - a.queries;
  const double before = first == 0 ? 0 : term(first - 1);
  for (std::int64_t t = 0; t < a.queries; ++t)
    term(first + t) = before + a.terms_BHT[(b * a.heads + head) * a.queries + t];
}

// A query of one head, as the last row of a tiled attention whose key blocks begin with key 0: what
// it sees is walked as there.
class DecodeQuery {
 public:
  DecodeQuery(const DecodeAttention& a, const PagedKeys& keys, std::int64_t head,
              std::int64_t position)
      : a_(a), keys_(keys), head_(head), position_(position) {
    rule_ = a.rules == nullptr ? nullptr : a.rules + (a.rule_of_each ? head : 0);
    if (rule_ != nullptr && rule_->shows_all()) rule_ = nullptr;
    if (rule_ == nullptr) return;
    walk_.rules = rule_;
    walk_.sizes.sequences = walk_.sizes.heads = walk_.sizes.key_value_heads = 1;
    walk_.sizes.queries = position % kTile + 1;
    walk_.sizes.keys = position + 1;
    place_ = block_place(walk_, 0, 0);
  }

  void run(const void* query, void* output) {
    float sums[kMostWidth];
    const auto width = static_cast<int>(a_.head_width);
    QueryTile tile = {.query = query,
                      .keys = key_rows_,
                      .values = value_rows_,
                      .width = width,
                      .scale = static_cast<float>(a_.scale * kLog2E),
                      .bias = bias_,
                      .output = sums};
    std::fill_n(sums, width, 0.0F);
    std::int64_t next = -1;
    for (std::int64_t j = before(position_ / kTile + 1); j >= 0; j = next) {
      next = before(j);
      if (next >= 0) prefetch(next, shared());
      tile.seen = seen(j);
      if (tile.seen == 0) continue;  // shown to an earlier row of the walk's block
      const std::int64_t first = j * kTile, bytes = number_bytes(a_);
      tile.count = static_cast<int>(std::min<std::int64_t>(kTile, position_ + 1 - first));
      find_rows(keys_, keys_.k, shared(), bytes, first, tile.count, key_rows_);
      find_rows(keys_, keys_.v, shared(), bytes, first, tile.count, value_rows_);
      fill_bias(first, tile.count);
      a_.ops->query(tile);
    }
    const float factor = 1.0F / tile.sum;
    a_.ops->store_rows(sums, &factor, {output, width, 1, width});
  }

  // The nearest block of the next head of keys, if there is one.
  void prefetch_next() const {
    if (shared() + 1 < a_.key_value_heads) prefetch(position_ / kTile, shared() + 1);
  }

 private:
  static constexpr int kMostWidth = 256;

  // The head's keys and values.
  std::int64_t shared() const { return head_ / (a_.heads / a_.key_value_heads); }

  // The next block down that shows a key.
  std::int64_t before(std::int64_t block) const {
    return rule_ == nullptr ? block - 1 : visible_until(walk_, place_, block - 1);
  }

  // Asks for a block of keys and values of one head: pages lie anywhere, which no processor
  // foresees.
  void prefetch(std::int64_t block, std::int64_t group) const {
    const void* rows[kTile];
    const std::int64_t bytes = number_bytes(a_), first = block * kTile;
    const std::int64_t count = std::min<std::int64_t>(kTile, position_ - first);
    for (const HeadRows<void>* const of : {&keys_.k, &keys_.v}) {
      find_rows(keys_, *of, group, bytes, first, count, rows);
      for (std::int64_t n = 0; n < count; ++n)
        for (std::int64_t i = 0; i < a_.head_width * bytes; i += 64)
          __builtin_prefetch(static_cast<const char*>(rows[n]) + i);
    }
  }

  std::uint64_t seen(std::int64_t block) const {
    constexpr std::uint64_t kAll = ~std::uint64_t{0};
    return rule_ == nullptr ? kAll : block_mask(walk_, place_, block).rows[position_ % kTile];
  }

  void fill_bias(std::int64_t first, int count) {
    const float slope =
        a_.slopes_H == nullptr ? 0.0F : static_cast<float>(a_.slopes_H[head_] * kLog2E);
    const auto nearest = static_cast<std::int32_t>(first - position_);
    for (int c = 0; c < count; ++c) bias_[c] = slope * static_cast<float>(nearest + c);
    if (a_.table_HL != nullptr) {
      const float* table = a_.table_HL + head_ * a_.distances;
      for (int c = 0; c < count; ++c)
        bias_[c] += table[std::min(position_ - first - c, a_.distances - 1)];
    }
    if (keys_.terms.data == nullptr) return;
    const auto term = [&](std::int64_t position) {
      return keys_.terms.data[place_of(keys_, keys_.terms, position, head_)];
    };
    const double own = term(position_);
    for (int c = 0; c < count; ++c)
      bias_[c] += static_cast<float>((own - term(first + c)) * kLog2E);
  }

  const DecodeAttention& a_;
  const PagedKeys& keys_;
  std::int64_t head_, position_;
  const KeyRule* rule_;  // null: the head sees all
  TiledAttention walk_;
  BlockPlace place_;
  const void *key_rows_[kTile], *value_rows_[kTile];
  float bias_[kTile];
};

}  // namespace

void decode_group(const DecodeAttention& a, const PagedKeys& keys, std::int64_t b, std::int64_t g) {
  const std::int64_t group = a.heads / a.key_value_heads;
  write_new(a, keys, b, g);
  for (std::int64_t head = g * group; head < (g + 1) * group; ++head) {
    if (a.terms_BHT != nullptr) write_terms(a, keys, b, head);
    for (std::int64_t t = 0; t < a.queries; ++t) {
      DecodeQuery query(a, keys, head, keys.positions - a.queries + t);
      if (t == 0 && head % group == 0) query.prefetch_next();
      query.run(row_at(a, a.q, b, head, t), row_at(a, a.output, b, head, t));
    }
  }
}

}  // namespace alibi
