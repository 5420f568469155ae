#include "evaluate/generate/batch.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <memory>

#include "device/libtorch.h"
#include "model/paged_cache.h"

namespace alibi {
namespace {

struct Active {
  Active(Request wanted, PagePool& pool) : request(std::move(wanted)), cache(pool) {
    result.number = request.number;
  }
  Request request;
  PagedSequence cache;
  Completion result;
  bool is_done = false;
};

class Batch {
 public:
  Batch(Gpt& model, const GenerateOptions& options, torch::Device device)
      : model_(model), options_(options), device_(device), pool_(model->config().layers) {
    banned_ = options.never;
    if (!options.stop_at_end) banned_.push_back(options.end);
  }

  std::int64_t size() const { return std::ssize(active_); }

  void enter(Request request) {
    Active& one = *active_.emplace_back(std::make_unique<Active>(std::move(request), pool_));
    const std::vector<std::int32_t>& prompt = one.request.prompt;
    const std::int64_t shared = one.cache.begin_with(prompt);
    // In pieces that are the same behind a shared beginning.
    const torch::Tensor logits_V = prefill(model_, {prompt.begin() + shared, prompt.end()},
                                           kSharedPositions, one.cache, device_);
    one.cache.share(prompt);
    use_.prompt_tokens += std::ssize(prompt);
    use_.shared_tokens += shared;
    choose(one, {logits_V.data_ptr<float>(), static_cast<std::size_t>(logits_V.numel())});
  }

  // Hands out what is done, whose pages are free at once; whether there was any.
  bool leave(const std::function<void(Completion)>& done) {
    const std::int64_t before = size();
    for (auto& one : active_) {
      if (!one->is_done) continue;
      use_.new_tokens += std::ssize(one->result.tokens);
      done(std::move(one->result));
      one.reset();
    }
    std::erase(active_, nullptr);
    return size() < before;
  }

  // One more token of each.
  void step() {
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
        torch::from_blob(ids.data(), {size(), 1}, torch::kLong).to(device_);
    const torch::Tensor logits_BV = model_->next_logits(tokens_B1, forward);
    const std::int64_t width = logits_BV.size(1);
    at::parallel_for(0, size(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        choose(*active_[static_cast<std::size_t>(i)],
               {logits_BV.data_ptr<float>() + i * width, static_cast<std::size_t>(width)});
    });
    count_pages();
  }

  BatchUse finished() const {
    BatchUse use = use_;
    use.unused_slots = slots_ == 0 ? 0 : unused_ / slots_;
    return use;
  }

 private:
  void choose(Active& one, std::span<const float> logits) const {
    const std::int32_t id = sample(logits, one.request.sample, one.cache.length(), banned_);
    one.result.ended = id == options_.end;
    if (!one.result.ended) one.result.tokens.push_back(id);
    one.is_done = one.result.ended || std::ssize(one.result.tokens) == one.request.tokens;
  }

  void count_pages() {
    use_.most_pages = std::max(use_.most_pages, pool_.pages_in_use());
    double held = 0, taken = 0;
    for (const auto& one : active_) {
      const std::int64_t length = one->cache.length();
      held += static_cast<double>(length);
      taken += static_cast<double>((length + kPage - 1) / kPage * kPage);
    }
    unused_ += taken - held;
    slots_ += taken;
  }

  Gpt& model_;
  const GenerateOptions& options_;
  torch::Device device_;
  PagePool pool_;
  std::vector<std::unique_ptr<Active>> active_;
  std::vector<std::int32_t> banned_;
  BatchUse use_;
  double unused_ = 0, slots_ = 0;
};

}  // namespace

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
    const bool some_left = batch.leave(done);  // of one token
    if (some_left) continue;
    batch.step();
    batch.leave(done);
  }
  return batch.finished();
}

}  // namespace alibi
