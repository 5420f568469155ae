// Keys and values of the past, one pair per layer, for generation and streaming.
//
// With a window the cache rolls: it holds at most that many positions, of which the text's first
// `sinks` stay for good (Xiao et al. 2024, "attention sinks") and the oldest of the others go.
// Distances in scores are then those of places in the cache: right for all but the sinks, which
// count as if they came just before the oldest of the others.
#pragma once

#include <memory>
#include <vector>

#include "device/tensor.h"
#include "kernels/decode_attention.h"

namespace alibi {

class PackedKeyValues;  // model/attention_tiled.h

class Cache {
 public:
  virtual ~Cache() = default;

  virtual std::int64_t length() const = 0;           // positions seen so far by every layer
  virtual std::int64_t window() const { return 0; }  // 0: it grows

  struct View {
    torch::Tensor k_BGSD, v_BGSD;
    torch::Tensor terms_BHS = {};  // of a bias that has them (model/score_bias.h)
  };
  // Adds T new positions to one layer (at most the window) and returns how many it holds by then,
  // the new ones last. Terms come as they count from 0 before these positions.
  virtual std::int64_t add(std::int64_t layer, const torch::Tensor& k_BGTD,
                           const torch::Tensor& v_BGTD, const torch::Tensor& terms_BHT) = 0;
  // The same, and returns all of them.
  View extend(std::int64_t layer, const torch::Tensor& k_BGTD, const torch::Tensor& v_BGTD,
              const torch::Tensor& terms_BHT = {}) {
    return view(layer, 0, add(layer, k_BGTD, v_BGTD, terms_BHT));
  }
  // Takes what so many more positions need, for all layers. From one thread, as caches may share
  // memory, which moves.
  virtual void reserve(std::int64_t) {}
  // For one sequence that has reserved: makes room for T new positions (at most the window) like
  // these in one layer, and says where they and all others are, which a kernel writes and reads in
  // place of `extend`. Valid until a cache reserves.
  virtual PagedKeys places(std::int64_t layer, const torch::Tensor& k_BGTD,
                           const torch::Tensor& v_BGTD, const torch::Tensor& terms_BHT) = 0;
  // Keys and values of a layer's positions `first` ... `end` - 1, and the terms of 0 ... `end` - 1.
  virtual View view(std::int64_t layer, std::int64_t first, std::int64_t end) = 0;
  // A text of so many positions that is being read in pieces, and what one layer's attention has
  // packed of it: what is made of all keys for each piece costs the square of the length.
  struct Reading {
    std::int64_t positions = 0;
    std::shared_ptr<PackedKeyValues> packed = nullptr;
  };
  virtual Reading* reading(std::int64_t) { return nullptr; }  // null: nothing is to be kept
  // Ends a forward pass over T positions: every layer has been extended by them.
  virtual void advance(std::int64_t positions) = 0;
};

// One piece of memory for each layer's keys and values, which doubles when full.
class KeyValueCache final : public Cache {
 public:
  explicit KeyValueCache(std::int64_t layers, std::int64_t window = 0, std::int64_t sinks = 0)
      : layers_(static_cast<std::size_t>(layers)), window_(window), sinks_(sinks) {}

  std::int64_t length() const override { return length_; }
  std::int64_t window() const override { return window_; }
  std::int64_t add(std::int64_t layer, const torch::Tensor& k_BGTD, const torch::Tensor& v_BGTD,
                   const torch::Tensor& terms_BHT) override;
  PagedKeys places(std::int64_t layer, const torch::Tensor& k_BGTD, const torch::Tensor& v_BGTD,
                   const torch::Tensor& terms_BHT) override;
  View view(std::int64_t layer, std::int64_t first, std::int64_t end) override;
  void advance(std::int64_t positions) override {
    held_ = kept(positions) + positions;
    length_ += positions;
  }

 private:
  std::int64_t make_room_for(std::int64_t layer, const torch::Tensor& k_BGTD,
                             const torch::Tensor& v_BGTD, const torch::Tensor& terms_BHT);
  std::int64_t kept(std::int64_t added) const;  // positions that stay when `added` come
  void drop_oldest(torch::Tensor& store, std::int64_t stay) const;

  std::vector<View> layers_;     // with room behind what they hold
  std::int64_t window_, sinks_;  // window 0: all is kept
  std::int64_t length_ = 0, held_ = 0;
};

}  // namespace alibi
