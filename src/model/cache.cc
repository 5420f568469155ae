#include "model/cache.h"

#include <algorithm>

#include "base/error.h"
#include "device/libtorch.h"

namespace alibi {
namespace {

// Room along dimension 2, of positions.
void make_room(torch::Tensor& store, const torch::Tensor& like, std::int64_t used,
               std::int64_t needed) {
  const std::int64_t room = store.defined() ? store.size(2) : 0;
  if (room >= needed) return;
  std::vector<std::int64_t> sizes = like.sizes().vec();
  sizes[2] = std::max(needed, 2 * room);
  torch::Tensor larger = torch::empty(sizes, like.options());
  if (used > 0) larger.narrow(2, 0, used).copy_(store.narrow(2, 0, used));
  store = larger;
}

}  // namespace

std::int64_t KeyValueCache::add(std::int64_t layer, const torch::Tensor& k_BGTD,
                                const torch::Tensor& v_BGTD, const torch::Tensor& terms_BHT) {
  const torch::NoGradGuard guard;
  const std::int64_t added = k_BGTD.size(2), stay = make_room_for(layer, k_BGTD, v_BGTD, terms_BHT);
  View& stored = layers_.at(static_cast<std::size_t>(layer));
  stored.k_BGSD.narrow(2, stay, added).copy_(k_BGTD);
  stored.v_BGSD.narrow(2, stay, added).copy_(v_BGTD);
  if (terms_BHT.defined()) {
    torch::Tensor& store = stored.terms_BHS;
    store.narrow(2, stay, added)
        .copy_(stay > 0 ? terms_BHT + store.narrow(2, stay - 1, 1) : terms_BHT);
  }
  return stay + added;
}

// Returns how many positions stay.
std::int64_t KeyValueCache::make_room_for(std::int64_t layer, const torch::Tensor& k_BGTD,
                                          const torch::Tensor& v_BGTD,
                                          const torch::Tensor& terms_BHT) {
  const torch::NoGradGuard guard;
  View& stored = layers_.at(static_cast<std::size_t>(layer));
  const std::int64_t added = k_BGTD.size(2), stay = kept(added);
  const auto prepare = [&](torch::Tensor& store, const torch::Tensor& like) {
    drop_oldest(store, stay);
    make_room(store, like, stay, stay + added);
  };
  prepare(stored.k_BGSD, k_BGTD);
  prepare(stored.v_BGSD, v_BGTD);
  if (terms_BHT.defined()) prepare(stored.terms_BHS, terms_BHT);
  return stay;
}

Cache::View KeyValueCache::view(std::int64_t layer, std::int64_t first, std::int64_t end) {
  View all = layers_.at(static_cast<std::size_t>(layer));
  all.k_BGSD = all.k_BGSD.narrow(2, first, end - first);
  all.v_BGSD = all.v_BGSD.narrow(2, first, end - first);
  if (all.terms_BHS.defined()) all.terms_BHS = all.terms_BHS.narrow(2, 0, end);
  return all;
}

PagedKeys KeyValueCache::places(std::int64_t layer, const torch::Tensor& k_BGTD,
                                const torch::Tensor& v_BGTD, const torch::Tensor& terms_BHT) {
  const auto one = [](const torch::Tensor& x) {
    return !x.defined() || x.size(0) == 1 ? x : x.narrow(0, 0, 1);
  };
  const std::int64_t stay = make_room_for(layer, one(k_BGTD), one(v_BGTD), one(terms_BHT));
  const View& stored = layers_.at(static_cast<std::size_t>(layer));
  ensure(stored.k_BGSD.size(0) == 1, "one sequence");
  static constexpr std::int64_t kFirst = 0;
  const auto rows = [](const torch::Tensor& store) {
    return HeadRows<void>{store.data_ptr(), 0, store.stride(1), store.stride(2)};
  };
  PagedKeys keys{.k = rows(stored.k_BGSD),
                 .v = rows(stored.v_BGSD),
                 .terms = {},
                 .pages = &kFirst,
                 .page_rows = stored.k_BGSD.size(2),
                 .positions = stay + k_BGTD.size(2)};
  if (terms_BHT.defined())
    keys.terms = {stored.terms_BHS.data_ptr<double>(), 0, stored.terms_BHS.stride(1),
                  stored.terms_BHS.stride(2)};
  return keys;
}

std::int64_t KeyValueCache::kept(std::int64_t added) const {
  if (window_ == 0) return held_;
  ensure(added <= window_ && sinks_ < window_, "new positions and sinks fit into the window");
  return std::min(held_, window_ - added);
}

void KeyValueCache::drop_oldest(torch::Tensor& store, std::int64_t stay) const {
  if (stay == held_) return;
  const std::int64_t first = std::min(sinks_, stay), recent = stay - first;
  store.narrow(2, first, recent).copy_(store.narrow(2, held_ - recent, recent).clone());
}

}  // namespace alibi
