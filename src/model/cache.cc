#include "model/cache.h"

#include <algorithm>

#include "base/error.h"
#include "device/libtorch.h"

namespace alibi {
namespace {

void make_room(torch::Tensor& store, const torch::Tensor& like, std::int64_t used,
               std::int64_t needed) {
  const std::int64_t room = store.defined() ? store.size(2) : 0;
  if (room >= needed) return;
  torch::Tensor larger = torch::empty(
      {like.size(0), like.size(1), std::max(needed, 2 * room), like.size(3)}, like.options());
  if (used > 0) larger.narrow(2, 0, used).copy_(store.narrow(2, 0, used));
  store = larger;
}

}  // namespace

Cache::View KeyValueCache::extend(std::int64_t layer, const torch::Tensor& k_BGTD,
                                  const torch::Tensor& v_BGTD, const torch::Tensor& terms_BHT) {
  const torch::NoGradGuard guard;
  View& stored = layers_.at(static_cast<std::size_t>(layer));
  const std::int64_t added = k_BGTD.size(2), stay = kept(added);
  const auto hold = [&](torch::Tensor& store, const torch::Tensor& more) {
    drop_oldest(store, stay);
    make_room(store, more, stay, stay + added);
    store.narrow(2, stay, added).copy_(more);
    return store.narrow(2, 0, stay + added);
  };
  View all{hold(stored.k_BGSD, k_BGTD), hold(stored.v_BGSD, v_BGTD)};
  if (terms_BHT.defined()) {
    torch::Tensor& store = stored.terms_BHS;
    const torch::Tensor terms_BHT1 = terms_BHT.unsqueeze(3);
    all.terms_BHS =
        hold(store, held_ > 0 ? terms_BHT1 + store.narrow(2, held_ - 1, 1) : terms_BHT1).squeeze(3);
  }
  return all;
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
