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

#include "base/growing_memory.h"
#include "model/cache.h"

namespace alibi {

inline constexpr std::int64_t kPage = 8;  // positions; half of one is unused on average
// Positions of the piece of a prompt that begins at one: each is read, and shared, as a whole, so
// that what follows has the same bits behind a shared beginning as behind its own. At first a query
// block of the attention kernels.
inline std::int64_t piece_at(std::int64_t position) { return position < 256 ? 64 : 256; }

// Outlives its sequences. Memory grows as pages are asked for: on the processor by those alone, and
// without being copied.
class PagePool {
 public:
  explicit PagePool(std::int64_t layers) : layers_(static_cast<std::size_t>(layers)) {}
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  std::int64_t pages_in_use() const { return in_use_; }
  std::int64_t pages() const { return std::ssize(users_); }  // that were ever in use at one time

 private:
  friend class PagedSequence;
  struct Store {
    torch::Tensor rows;
    GrowingMemory memory;  // of the rows, on the processor
    // Room for so many pages, or more, of positions like those of a tensor (1, heads, T, ...).
    void make_room(const torch::Tensor& like, std::int64_t pages);
  };
  struct Layer {
    // P pages of N positions each: those of one head lie side by side.
    Store k_PGND, v_PGND, terms_PHN;
  };

  std::int64_t take();                // a page of one user
  void give_back(std::int64_t page);  // by one user

  std::vector<Layer> layers_;
  std::vector<std::int64_t> users_;  // of each page
  std::vector<std::int64_t> free_;
  std::int64_t in_use_ = 0;
  // The pages of a piece's tokens, by the first page of the piece before (-1: none; whoever holds
  // these pages holds those, too) and these tokens. Gone with their last user.
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

  // Before a piece of these tokens is read, of which what was read is shared: goes on with the
  // pages of others that hold the same first tokens, and returns how many positions these are:
  // whole pieces; of all tokens the last one is left.
  std::int64_t take_shared(std::span<const std::int32_t> tokens);
  // Others may begin with the pages of these first tokens, which it has read.
  void share(std::span<const std::int32_t> tokens);
  void reserve(std::int64_t positions) override;  // `extend` does so, too

  std::int64_t length() const override { return length_; }
  std::int64_t room() const { return std::ssize(pages_) * kPage; }  // positions of its pages
  std::int64_t add(std::int64_t layer, const torch::Tensor& k_BGTD, const torch::Tensor& v_BGTD,
                   const torch::Tensor& terms_BHT) override;
  PagedKeys places(std::int64_t layer, const torch::Tensor& k_BGTD, const torch::Tensor& v_BGTD,
                   const torch::Tensor& terms_BHT) override;
  View view(std::int64_t layer, std::int64_t first, std::int64_t end) override;
  Reading* reading(std::int64_t layer) override;
  void advance(std::int64_t positions) override;

 private:
  std::int64_t page_of(std::int64_t position) const {
    return pages_[static_cast<std::size_t>(position / kPage)];
  }
  void make_room_for(std::int64_t layer, const torch::Tensor& k_BGTD, const torch::Tensor& v_BGTD,
                     const torch::Tensor& terms_BHT);
  // The numbers of some of its pages.
  torch::Tensor table(std::int64_t first, std::int64_t count, torch::Device device) const;

  PagePool& pool_;
  std::vector<std::int64_t> pages_;
  std::int64_t length_ = 0;
  std::int64_t shared_ = 0, before_ = -1;  // positions that others know; their last piece's page
  bool shares_ = true;
  std::int64_t to_read_ = 0;      // of a prompt, until all of it is read
  std::vector<Reading> reading_;  // by layer
};

}  // namespace alibi
