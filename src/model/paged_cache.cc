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

std::span<const std::int32_t> last_shared(std::span<const std::int32_t> tokens) {
  return tokens.last(kSharedPositions);
}

// Room for so many pages of positions like those of a tensor (1, heads, T, ...).
void make_room(torch::Tensor& store, const torch::Tensor& like, std::int64_t pages) {
  const std::int64_t held = store.defined() ? store.size(0) : 0;
  if (held >= pages) return;
  std::vector<std::int64_t> sizes = like.sizes().vec();
  sizes[0] = pages;
  sizes[2] = kPage;
  torch::Tensor larger = torch::empty(sizes, like.options());
  if (held > 0) larger.narrow(0, 0, held).copy_(store);
  store = larger;
}

}  // namespace

std::int64_t PagePool::take() {
  if (free_.empty()) {
    // A half more at a time: storage is copied when it grows.
    const std::int64_t more = std::max<std::int64_t>(16, std::ssize(users_) / 2);
    for (std::int64_t i = 0; i < more; ++i) free_.push_back(std::ssize(users_) + more - 1 - i);
    users_.resize(users_.size() + static_cast<std::size_t>(more), 0);
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

std::int64_t PagedSequence::begin_with(std::span<const std::int32_t> tokens) {
  ensure(pages_.empty(), "the sequence is new");
  std::int64_t before = -1;
  for (std::size_t end = kSharedPositions; end < tokens.size(); end += kSharedPositions) {
    const auto found = pool_.prefixes_.find({before, bytes_of(last_shared(tokens.first(end)))});
    if (found == pool_.prefixes_.end()) break;
    for (const std::int64_t page : found->second) {
      pages_.push_back(page);
      ++pool_.users_[static_cast<std::size_t>(page)];
    }
    before = found->second.front();
  }
  return length_ = std::ssize(pages_) * kPage;
}

void PagedSequence::share(std::span<const std::int32_t> tokens) {
  ensure(std::ssize(tokens) <= length_, "what is shared was read");
  std::int64_t before = -1;
  for (std::size_t end = kSharedPositions; end <= tokens.size(); end += kSharedPositions) {
    const auto first = pages_.begin() + static_cast<std::ptrdiff_t>(end - kSharedPositions) / kPage;
    const PagePool::Prefix prefix{before, bytes_of(last_shared(tokens.first(end)))};
    const auto [place, is_new] =
        pool_.prefixes_.try_emplace(prefix, first, first + kSharedPositions / kPage);
    if (is_new) pool_.prefix_of_.emplace(*first, prefix);
    before = place->second.front();
    if (before != *first) return;  // another one's: it may be gone before what follows here
  }
}

void PagedSequence::reserve(std::int64_t positions) {
  while (std::ssize(pages_) * kPage < length_ + positions) pages_.push_back(pool_.take());
  for (PagePool::Layer& layer : pool_.layers_) {
    for (torch::Tensor* const store : {&layer.k_PGND, &layer.v_PGND, &layer.terms_PHN})
      if (store->defined()) make_room(*store, *store, pool_.pages());
  }
}

torch::Tensor PagedSequence::table(std::int64_t positions) {
  const std::int64_t pages = (positions + kPage - 1) / kPage;
  if (!table_P_.defined() || table_P_.size(0) != pages)
    table_P_ = torch::tensor(at::IntArrayRef(pages_).slice(0, static_cast<std::size_t>(pages)));
  return table_P_;
}

Cache::View PagedSequence::extend(std::int64_t layer, const torch::Tensor& k_BGTD,
                                  const torch::Tensor& v_BGTD, const torch::Tensor& terms_BHT) {
  const torch::NoGradGuard guard;
  ensure(k_BGTD.size(0) == 1, "one sequence");
  if (std::ssize(pages_) * kPage < length_ + k_BGTD.size(2)) reserve(k_BGTD.size(2));
  make_room_for(layer, k_BGTD, v_BGTD, terms_BHT);
  PagePool::Layer& pool = pool_.layers_.at(static_cast<std::size_t>(layer));
  const std::int64_t added = k_BGTD.size(2);
  const auto hold = [&](const torch::Tensor& store, const torch::Tensor& rows) {
    for (std::int64_t i = 0; i < added;) {
      const std::int64_t place = length_ + i;
      const std::int64_t count = std::min(added - i, kPage - place % kPage);
      store[page_of(place)].narrow(1, place % kPage, count).copy_(rows.narrow(1, i, count));
      i += count;
    }
  };
  hold(pool.k_PGND, k_BGTD[0]);
  hold(pool.v_PGND, v_BGTD[0]);
  if (terms_BHT.defined()) {
    torch::Tensor terms_HT = terms_BHT[0];
    if (length_ > 0) {
      const torch::Tensor page_HN = pool.terms_PHN[page_of(length_ - 1)];
      terms_HT = terms_HT + page_HN.narrow(1, (length_ - 1) % kPage, 1);
    }
    hold(pool.terms_PHN, terms_HT);
  }
  return view(layer, length_ + added);
}

void PagedSequence::make_room_for(std::int64_t layer, const torch::Tensor& k_BGTD,
                                  const torch::Tensor& v_BGTD, const torch::Tensor& terms_BHT) {
  ensure(std::ssize(pages_) * kPage >= length_ + k_BGTD.size(2), "pages of new positions");
  PagePool::Layer& pool = pool_.layers_.at(static_cast<std::size_t>(layer));
  make_room(pool.k_PGND, k_BGTD, pool_.pages());
  make_room(pool.v_PGND, v_BGTD, pool_.pages());
  if (terms_BHT.defined()) make_room(pool.terms_PHN, terms_BHT, pool_.pages());
}

Cache::View PagedSequence::view(std::int64_t layer, std::int64_t positions) {
  PagePool::Layer& pool = pool_.layers_.at(static_cast<std::size_t>(layer));
  const torch::Tensor table_P = table(positions).to(pool.k_PGND.device());
  const auto rows = [&](const torch::Tensor& store) {  // page by page
    return store.index_select(0, table_P)
        .transpose(0, 1)
        .flatten(1, 2)
        .narrow(1, 0, positions)
        .unsqueeze(0);
  };
  View view{rows(pool.k_PGND), rows(pool.v_PGND)};
  if (pool.terms_PHN.defined()) view.terms_BHS = rows(pool.terms_PHN);
  return view;
}

PagedKeys PagedSequence::places(std::int64_t layer, const torch::Tensor& k_BGTD,
                                const torch::Tensor& v_BGTD, const torch::Tensor& terms_BHT) {
  make_room_for(layer, k_BGTD, v_BGTD, terms_BHT);
  const PagePool::Layer& pool = pool_.layers_.at(static_cast<std::size_t>(layer));
  const auto rows = [](const torch::Tensor& store) {
    return HeadRows<void>{store.data_ptr(), store.stride(0), store.stride(1), store.stride(2)};
  };
  PagedKeys keys{.k = rows(pool.k_PGND),
                 .v = rows(pool.v_PGND),
                 .terms = {},
                 .pages = pages_.data(),
                 .page_rows = kPage,
                 .positions = length_ + k_BGTD.size(2)};
  if (terms_BHT.defined()) {
    const torch::Tensor& terms = pool.terms_PHN;
    keys.terms = {terms.data_ptr<double>(), terms.stride(0), terms.stride(1), terms.stride(2)};
  }
  return keys;
}

}  // namespace alibi
