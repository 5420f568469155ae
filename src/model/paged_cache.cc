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

// Room for `slots` rows like those of x (T, ...).
void make_room(torch::Tensor& store, const torch::Tensor& x, std::int64_t slots) {
  const std::int64_t held = store.defined() ? store.size(0) : 0;
  if (held >= slots) return;
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes[0] = slots;
  torch::Tensor larger = torch::empty(sizes, x.options());
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
    for (torch::Tensor* const store : {&layer.k_NGD, &layer.v_NGD, &layer.terms_NH})
      if (store->defined()) make_room(*store, *store, pool_.slots());
  }
}

torch::Tensor PagedSequence::table(std::int64_t positions) {
  const std::int64_t pages = (positions + kPage - 1) / kPage;
  if (!table_P_.defined() || table_P_.size(0) != pages)
    table_P_ = torch::tensor(at::IntArrayRef(pages_).slice(0, static_cast<std::size_t>(pages)));
  return table_P_;
}

std::int64_t PagedSequence::slot(std::int64_t position) const {
  return pages_[static_cast<std::size_t>(position / kPage)] * kPage + position % kPage;
}

Cache::View PagedSequence::extend(std::int64_t layer, const torch::Tensor& k_BGTD,
                                  const torch::Tensor& v_BGTD, const torch::Tensor& terms_BHT) {
  const torch::NoGradGuard guard;
  ensure(k_BGTD.size(0) == 1, "one sequence");
  const std::int64_t added = k_BGTD.size(2), all = length_ + added;
  if (std::ssize(pages_) * kPage < all) reserve(added);
  PagePool::Layer& pool = pool_.layers_.at(static_cast<std::size_t>(layer));
  const torch::Tensor table_P = table(all).to(k_BGTD.device());
  // Rows of the new positions go to their slots; those of all positions come back page by page.
  const auto hold = [&](torch::Tensor& store, const torch::Tensor& rows) {
    make_room(store, rows, pool_.slots());
    for (std::int64_t i = 0; i < added;) {
      const std::int64_t place = length_ + i;
      const std::int64_t count = std::min(added - i, kPage - place % kPage);
      store.narrow(0, slot(place), count).copy_(rows.narrow(0, i, count));
      i += count;
    }
    return store.unflatten(0, {-1, kPage}).index_select(0, table_P).flatten(0, 1).narrow(0, 0, all);
  };
  View view{hold(pool.k_NGD, k_BGTD[0].transpose(0, 1)).transpose(0, 1).unsqueeze(0),
            hold(pool.v_NGD, v_BGTD[0].transpose(0, 1)).transpose(0, 1).unsqueeze(0)};
  if (terms_BHT.defined()) {
    torch::Tensor terms_TH = terms_BHT[0].t();
    if (length_ > 0) terms_TH = terms_TH + pool.terms_NH[slot(length_ - 1)];
    view.terms_BHS = hold(pool.terms_NH, terms_TH).t().unsqueeze(0);
  }
  return view;
}

}  // namespace alibi
