// Keys and values of many sequences in pages of fixed size (Kwon et al. 2023, PagedAttention,
// section 4): a sequence holds a table of pages, so that what is reserved but not used is less than
// a page for each; sequences that begin with the same tokens share pages.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/cache.h"

namespace alibi {

inline constexpr std::int64_t kPage = 8;  // positions; half of one is unused on average
// Positions that are shared or not: a query block of the attention kernels, so that what a sequence
// reads of its own prompt has the same bits behind a shared beginning as behind its own.
inline constexpr std::int64_t kSharedPositions = 64;

// Outlives its sequences. Memory grows as pages are asked for.
class PagePool {
 public:
  explicit PagePool(std::int64_t layers) : layers_(static_cast<std::size_t>(layers)) {}
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  std::int64_t pages_in_use() const { return in_use_; }

 private:
  friend class PagedSequence;
  struct Layer {
    // P pages of N positions each: those of one head lie side by side.
    torch::Tensor k_PGND, v_PGND, terms_PHN;
  };

  std::int64_t take();                                       // a page of one user
  void give_back(std::int64_t page);                         // by one user
  std::int64_t pages() const { return std::ssize(users_); }  // taken or not

  std::vector<Layer> layers_;
  std::vector<std::int64_t> users_;  // of each page
  std::vector<std::int64_t> free_;
  std::int64_t in_use_ = 0;
  // The pages of kSharedPositions tokens, by the first page of those before them (-1: none; whoever
  // holds these pages holds those, too) and these tokens. Gone with their last user.
  using Prefix = std::pair<std::int64_t, std::string>;
  std::map<Prefix, std::vector<std::int64_t>> prefixes_;
  std::map<std::int64_t, Prefix> prefix_of_;  // by its first page
};

class PagedSequence final : public Cache {
 public:
  explicit PagedSequence(PagePool& pool) : pool_(pool) {}
  ~PagedSequence() override;  // gives its pages back
  PagedSequence(const PagedSequence&) = delete;
  PagedSequence& operator=(const PagedSequence&) = delete;

  // Of a new sequence: begins with the pages of others that hold the same first tokens, and returns
  // how many positions these are: a multiple of kSharedPositions, fewer than the tokens.
  std::int64_t begin_with(std::span<const std::int32_t> tokens);
  // Others may begin with the pages of these tokens, which it has read.
  void share(std::span<const std::int32_t> tokens);
  void reserve(std::int64_t positions) override;  // `extend` does so, too

  std::int64_t length() const override { return length_; }
  View extend(std::int64_t layer, const torch::Tensor& k_BGTD, const torch::Tensor& v_BGTD,
              const torch::Tensor& terms_BHT = {}) override;
  PagedKeys places(std::int64_t layer, const torch::Tensor& k_BGTD, const torch::Tensor& v_BGTD,
                   const torch::Tensor& terms_BHT) override;
  View view(std::int64_t layer, std::int64_t positions) override;
  void advance(std::int64_t positions) override { length_ += positions; }

 private:
  std::int64_t page_of(std::int64_t position) const {
    return pages_[static_cast<std::size_t>(position / kPage)];
  }
  void make_room_for(std::int64_t layer, const torch::Tensor& k_BGTD, const torch::Tensor& v_BGTD,
                     const torch::Tensor& terms_BHT);
  torch::Tensor table(std::int64_t positions);  // the pages of the first so many

  PagePool& pool_;
  torch::Tensor table_P_;  // as last asked for: all layers ask for the same
  std::vector<std::int64_t> pages_;
  std::int64_t length_ = 0;
};

}  // namespace alibi
