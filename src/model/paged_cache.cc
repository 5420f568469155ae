#include "model/paged_cache.h"

#include <algorithm>

#include "base/error.h"
#include "device/libtorch.h"

namespace alibi {
namespace {

// As the key of a map.
std::string bytes_of(std::span<const std::int32_t> tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes()};
}

std::span<const std::int32_t> part(std::span<const std::int32_t> tokens, std::int64_t first,
                                   std::int64_t count) {
  return tokens.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

}  // namespace

void PagePool::Store::make_room(const torch::Tensor& like, std::int64_t pages) {
  const std::int64_t held = rows.defined() ? rows.size(0) : 0;
  if (held >= pages) return;
  std::vector<std::int64_t> sizes = like.sizes().vec();
  sizes[0] = pages;
  sizes[2] = kPage;
  if (like.is_cpu()) {
    const auto bytes = static_cast<std::size_t>(c10::multiply_integers(sizes) * like.itemsize());
    void* const data = memory.grow(bytes);
    sizes[0] =
        static_cast<std::int64_t>(memory.bytes() / (bytes / static_cast<std::size_t>(pages)));
    rows = torch::from_blob(data, sizes, like.options());
    return;
  }
  sizes[0] += pages / 32;  // a device copies what it has, and takes memory for all of it at once
  const torch::Tensor larger = torch::empty(sizes, like.options());
  if (held > 0) larger.narrow(0, 0, held).copy_(rows);
  rows = larger;
}

std::int64_t PagePool::take() {
  if (free_.empty()) {
    free_.push_back(pages());
    users_.push_back(0);
  }
  const std::int64_t page = free_.back();
  free_.pop_back();
  users_[static_cast<std::size_t>(page)] = 1;
  ++in_use_;
  return page;
}

void PagePool::give_back(std::int64_t page) {
  if (--users_[static_cast<std::size_t>(page)] > 0) return;
  if (const auto known = prefix_of_.find(page); known != prefix_of_.end()) {
    prefixes_.erase(known->second);
    prefix_of_.erase(known);
  }
  free_.push_back(page);
  --in_use_;
}

PagedSequence::~PagedSequence() {
  for (const std::int64_t page : pages_) pool_.give_back(page);
}

std::int64_t PagedSequence::take_shared(std::span<const std::int32_t> tokens) {
  if (pages_.empty()) {
    to_read_ = std::ssize(tokens);
    reading_.assign(pool_.layers_.size(), {.positions = to_read_});
  }
  const std::int64_t first = length_;
  while (shares_ && shared_ == length_ && length_ + piece_at(length_) < to_read_) {
    const std::span<const std::int32_t> piece = part(tokens, length_, piece_at(length_));
    const auto found = pool_.prefixes_.find({before_, bytes_of(piece)});
    if (found == pool_.prefixes_.end()) break;
    for (const std::int64_t page : found->second) {
      pages_.push_back(page);
      ++pool_.users_[static_cast<std::size_t>(page)];
    }
    before_ = found->second.front();
    shared_ = length_ += std::ssize(piece);
  }
  return length_ - first;
}

void PagedSequence::share(std::span<const std::int32_t> tokens) {
  ensure(std::ssize(tokens) <= length_, "what is shared was read");
  while (shares_ && shared_ + piece_at(shared_) <= std::ssize(tokens)) {
    const std::int64_t positions = piece_at(shared_);
    const auto first = pages_.begin() + static_cast<std::ptrdiff_t>(shared_ / kPage);
    const PagePool::Prefix prefix{before_, bytes_of(part(tokens, shared_, positions))};
    const auto [place, is_new] =
        pool_.prefixes_.try_emplace(prefix, first, first + positions / kPage);
    if (is_new) pool_.prefix_of_.emplace(*first, prefix);
    before_ = *first;
    shared_ += positions;
    // Another one's may be gone before what follows here.
    shares_ = place->second.front() == *first;
  }
}

void PagedSequence::reserve(std::int64_t positions) {
  while (room() < length_ + positions) pages_.push_back(pool_.take());
  for (PagePool::Layer& layer : pool_.layers_) {
    for (PagePool::Store* const store : {&layer.k_PGND, &layer.v_PGND, &layer.terms_PHN})
      if (store->rows.defined()) store->make_room(store->rows, pool_.pages());
  }
}

torch::Tensor PagedSequence::table(std::int64_t first, std::int64_t count,
                                   torch::Device device) const {
  return torch::tensor(at::IntArrayRef(pages_).slice(static_cast<std::size_t>(first),
                                                     static_cast<std::size_t>(count)))
      .to(device);
}

std::int64_t PagedSequence::add(std::int64_t layer, const torch::Tensor& k_BGTD,
                                const torch::Tensor& v_BGTD, const torch::Tensor& terms_BHT) {
  const torch::NoGradGuard guard;
  ensure(k_BGTD.size(0) == 1, "one sequence");
  const std::int64_t added = k_BGTD.size(2);
  if (room() < length_ + added) reserve(added);
  make_room_for(layer, k_BGTD, v_BGTD, terms_BHT);
  PagePool::Layer& pool = pool_.layers_.at(static_cast<std::size_t>(layer));
  // Whole pages at once, and what is before and behind them.
  const std::int64_t before = std::min(added, (kPage - length_ % kPage) % kPage);
  const std::int64_t whole = (added - before) / kPage, behind = added - before - whole * kPage;
  const auto hold = [&](const torch::Tensor& store, const torch::Tensor& rows) {
    const auto hold_some = [&](std::int64_t first, std::int64_t count) {
      const std::int64_t place = length_ + first;
      if (count > 0)
        store[page_of(place)].narrow(1, place % kPage, count).copy_(rows.narrow(1, first, count));
    };
    hold_some(0, before);
    if (whole > 0)
      store.index_copy_(
          0, table((length_ + before) / kPage, whole, store.device()),
          rows.narrow(1, before, whole * kPage).unflatten(1, {whole, kPage}).transpose(0, 1));
    hold_some(added - behind, behind);
  };
  hold(pool.k_PGND.rows, k_BGTD[0]);
  hold(pool.v_PGND.rows, v_BGTD[0]);
  if (terms_BHT.defined()) {
    const torch::Tensor& store = pool.terms_PHN.rows;
    torch::Tensor terms_HT = terms_BHT[0];
    if (length_ > 0)
      terms_HT = terms_HT + store[page_of(length_ - 1)].narrow(1, (length_ - 1) % kPage, 1);
    hold(store, terms_HT);
  }
  return length_ + added;
}

void PagedSequence::make_room_for(std::int64_t layer, const torch::Tensor& k_BGTD,
                                  const torch::Tensor& v_BGTD, const torch::Tensor& terms_BHT) {
  ensure(room() >= length_ + k_BGTD.size(2), "pages of new positions");
  PagePool::Layer& pool = pool_.layers_.at(static_cast<std::size_t>(layer));
  pool.k_PGND.make_room(k_BGTD, pool_.pages());
  pool.v_PGND.make_room(v_BGTD, pool_.pages());
  if (terms_BHT.defined()) pool.terms_PHN.make_room(terms_BHT, pool_.pages());
}

Cache::View PagedSequence::view(std::int64_t layer, std::int64_t first, std::int64_t end) {
  const PagePool::Layer& pool = pool_.layers_.at(static_cast<std::size_t>(layer));
  const auto rows = [&](const torch::Tensor& store, std::int64_t begin) {  // page by page
    const std::int64_t page = begin / kPage, pages = (end + kPage - 1) / kPage - page;
    return store.index_select(0, table(page, pages, store.device()))
        .transpose(0, 1)
        .flatten(1, 2)
        .narrow(1, begin % kPage, end - begin)
        .unsqueeze(0);
  };
  View view{rows(pool.k_PGND.rows, first), rows(pool.v_PGND.rows, first)};
  if (pool.terms_PHN.rows.defined()) view.terms_BHS = rows(pool.terms_PHN.rows, 0);
  return view;
}

Cache::Reading* PagedSequence::reading(std::int64_t layer) {
  return length_ < to_read_ ? &reading_.at(static_cast<std::size_t>(layer)) : nullptr;
}

void PagedSequence::advance(std::int64_t positions) {
  length_ += positions;
  if (length_ >= to_read_) reading_.clear();
}

PagedKeys PagedSequence::places(std::int64_t layer, const torch::Tensor& k_BGTD,
                                const torch::Tensor& v_BGTD, const torch::Tensor& terms_BHT) {
  make_room_for(layer, k_BGTD, v_BGTD, terms_BHT);
  const PagePool::Layer& pool = pool_.layers_.at(static_cast<std::size_t>(layer));
  const auto rows = [](const PagePool::Store& store) {
    return HeadRows<void>{store.rows.data_ptr(), store.rows.stride(0), store.rows.stride(1),
                          store.rows.stride(2)};
  };
  PagedKeys keys{.k = rows(pool.k_PGND),
                 .v = rows(pool.v_PGND),
                 .terms = {},
                 .pages = pages_.data(),
                 .page_rows = kPage,
                 .positions = length_ + k_BGTD.size(2)};
  if (terms_BHT.defined()) {
    const torch::Tensor& terms = pool.terms_PHN.rows;
    keys.terms = {terms.data_ptr<double>(), terms.stride(0), terms.stride(1), terms.stride(2)};
  }
  return keys;
}

}  // namespace alibi
