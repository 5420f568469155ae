#include "evaluate/generate/batch.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <memory>
#include <span>

#include "device/libtorch.h"
#include "model/paged_cache.h"

namespace alibi {
namespace {

// Prompt tokens that are read between two steps of the others, about as many as a piece has.
constexpr std::int64_t kReadAtOnce = 256;

struct Active {
  Active(Request wanted, PagePool& pool) : request(std::move(wanted)), cache(pool) {
    result.number = request.number;
  }
  std::int64_t unread() const { return std::ssize(request.prompt) - cache.length(); }

  Request request;
  PagedSequence cache;
  Completion result;
  bool is_done = false;
};

class Batch {
 public:
  Batch(Gpt& model, const GenerateOptions& options, torch::Device device)
      : model_(model), options_(options), device_(device), pool_(model->config().layers) {
    banned_ = options.banned();
  }

  std::int64_t size() const { return std::ssize(reading_) + std::ssize(active_); }

  void enter(Request request) {
    reading_.push_back(std::make_unique<Active>(std::move(request), pool_));
  }

  // In turns of the one that waits the longest and the one that is read the soonest, so that
  // neither long nor short ones wait for all others.
  void read() {
    for (std::int64_t count = 0; count < kReadAtOnce && !reading_.empty();) {
      reads_oldest_ = !reads_oldest_;
      const auto next = reads_oldest_ ? reading_.begin()
                                      : std::ranges::min_element(reading_, {}, [](const auto& one) {
                                          return one->unread();
                                        });
      while (count < kReadAtOnce && (*next)->unread() > 0) count += read_piece(**next);
      if ((*next)->unread() > 0) return;
      active_.push_back(std::move(*next));
      reading_.erase(next);
    }
  }

  // Hands out what is done, whose pages are free at once.
  void leave(const std::function<void(Completion)>& done) {
    for (auto& one : active_) {
      if (!one->is_done) continue;
      use_.new_tokens += std::ssize(one->result.tokens);
      done(std::move(one->result));
      one.reset();
    }
    std::erase(active_, nullptr);
  }

  // One more token of each whose prompt is read.
  void step() {
    if (active_.empty()) return;
    const torch::NoGradGuard guard;
    std::vector<std::int64_t> ids;
    std::vector<Cache*> caches;
    for (const auto& one : active_) {
      ids.push_back(one->result.tokens.back());
      caches.push_back(&one->cache);
    }
    ForwardOptions forward;
    forward.caches = caches;
    const torch::Tensor tokens_B1 =
        torch::from_blob(ids.data(), {std::ssize(ids), 1}, torch::kLong).to(device_);
    const torch::Tensor logits_BV = model_->next_logits(tokens_B1, forward);
    const std::int64_t width = logits_BV.size(1);
    at::parallel_for(0, std::ssize(ids), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        choose(*active_[static_cast<std::size_t>(i)],
               {logits_BV.data_ptr<float>() + i * width, static_cast<std::size_t>(width)});
    });
  }

  // Of the fullest moment.
  void count_pages() {
    std::int64_t positions = pool_.pages_in_use() * kPage;
    for (const auto* const some : {&reading_, &active_})
      for (const auto& one : *some) positions -= one->cache.room() - one->cache.length();
    if (positions <= use_.positions) return;
    use_.positions = positions;
    use_.pages = pool_.pages();
  }

  const BatchUse& use() const { return use_; }

 private:
  // Returns how many tokens it read.
  std::int64_t read_piece(Active& one) {
    const std::span<const std::int32_t> prompt = one.request.prompt;
    if (one.cache.length() == 0) use_.prompt_tokens += std::ssize(prompt);
    use_.shared_tokens += one.cache.take_shared(prompt);
    const std::int64_t first = one.cache.length(), count = std::min(piece_at(first), one.unread());
    const torch::Tensor logits_V = prefill(
        model_, prompt.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
        count, one.cache, device_);
    one.cache.share(prompt.first(static_cast<std::size_t>(first + count)));
    if (one.unread() == 0)
      choose(one, {logits_V.data_ptr<float>(), static_cast<std::size_t>(logits_V.numel())});
    return count;
  }

  void choose(Active& one, std::span<const float> logits) const {
    const std::int32_t id = sample(logits, one.request.sample, one.cache.length(), banned_);
    one.result.ended = id == options_.end;
    if (!one.result.ended) one.result.tokens.push_back(id);
    one.is_done = one.result.ended || std::ssize(one.result.tokens) == one.request.tokens;
  }

  Gpt& model_;
  const GenerateOptions& options_;
  torch::Device device_;
  PagePool pool_;
  std::vector<std::unique_ptr<Active>> reading_, active_;  // by whether the prompt is read
  bool reads_oldest_ = false;
  std::vector<std::int32_t> banned_;
  BatchUse use_;
};

}  // namespace

double BatchUse::unused() const {
  return pages == 0 ? 0 : 1 - static_cast<double>(positions) / static_cast<double>(pages * kPage);
}

BatchUse generate_batch(Gpt& model, const GenerateOptions& options, std::int64_t parallel,
                        torch::Device device, const std::function<std::optional<Request>()>& next,
                        const std::function<void(Completion)>& done,
                        const std::function<bool()>& stop) {
  Batch batch(model, options, device);
  while (!stop()) {
    while (batch.size() < parallel && !stop()) {
      std::optional<Request> request = next();
      if (!request) break;
      batch.enter(std::move(*request));
    }
    if (batch.size() == 0) break;
    batch.read();
    batch.leave(done);  // of one token
    batch.step();
    batch.count_pages();
    batch.leave(done);
  }
  return batch.use();
}

}  // namespace alibi
