#include "distributed/farewells.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

namespace alibi {
namespace {

using std::chrono::milliseconds;

constexpr int kTag = 1;
constexpr std::size_t kMessageBytes = 1024;  // the kind, and a text that ends with 0

torch::Tensor empty_message() {
  return at::zeros({static_cast<std::int64_t>(kMessageBytes)}, torch::kByte);
}

torch::Tensor message_of(Farewells::Kind kind, const std::string& text) {
  const torch::Tensor message = empty_message();
  auto* bytes = static_cast<char*>(message.data_ptr());
  bytes[0] = static_cast<char>(kind);
  text.copy(bytes + 1, kMessageBytes - 2);
  return message;
}

bool is_loss(Farewells::Kind kind) {
  return kind == Farewells::Kind::kClosed || kind == Farewells::Kind::kFails;
}

}  // namespace

Farewells::Farewells(GlooGroupPointer group, std::function<void(Farewells&)> on_loss)
    : group_(std::move(group)),
      on_loss_(std::move(on_loss)),
      farewells_(static_cast<std::size_t>(group_->getSize())) {
  for (int peer = 0; peer < group_->getSize(); ++peer) {
    messages_.push_back(empty_message());
    // In advance, so that a farewell travels without waiting for anybody.
    receives_.push_back(peer == group_->getRank()
                            ? GlooWork()
                            : receive_from(*group_, messages_.back(), peer, kTag));
  }
  // Each connection keeps its order: after this every peer has asked for its farewell.
  group_->barrier()->wait(group_->getOptions()->timeout);
  for (std::size_t peer = 0; peer < receives_.size(); ++peer) {
    if (receives_[peer]) threads_.emplace_back([this, peer] { listen(peer); });
  }
}

Farewells::~Farewells() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  for (const GlooWork& receive : receives_) {
    if (receive) receive->abort();
  }
  for (std::thread& thread : threads_) thread.join();
}

bool Farewells::say(Kind kind, const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(has_said_, true)) return false;
  }
  const torch::Tensor message = message_of(kind, text);
  std::vector<GlooWork> sends;
  for (int peer = 0; peer < group_->getSize(); ++peer) {
    if (peer == group_->getRank()) continue;
    try {
      sends.push_back(send_to(*group_, message, peer, kTag));
    } catch (const std::exception&) {  // lost: its receive tells
    }
  }
  for (const GlooWork& send : sends) {
    try {
      send->wait(milliseconds(500));  // it fits into the connection's own memory
    } catch (const std::exception&) {
    }
  }
  return true;
}

std::vector<Farewells::Farewell> Farewells::hear(milliseconds limit) {
  std::unique_lock lock(mutex_);
  const auto all_gave = [&] {
    const auto silent = [](const Farewell& farewell) { return farewell.kind == Kind::kNone; };
    return std::ranges::count_if(farewells_, silent) == 1;  // the own entry
  };
  heard_.wait_for(lock, limit, [&] { return has_lost_ || all_gave(); });
  heard_.wait_for(lock, milliseconds(100), all_gave);
  return farewells_;
}

void Farewells::listen(std::size_t peer) {
  // A wait of Gloo's that reaches its own limit closes all connections: this one must not.
  constexpr std::chrono::hours kForEver{24 * 365 * 100};
  Farewell farewell{Kind::kClosed, {}};
  try {
    if (!receives_[peer]->wait(kForEver)) return;  // told to end
    const auto* bytes = static_cast<const char*>(messages_[peer].data_ptr());
    // Who sent it may be no rank: nothing says that its text ends.
    farewell = {static_cast<Kind>(bytes[0]), {bytes + 1, ::strnlen(bytes + 1, kMessageBytes - 1)}};
  } catch (const std::exception&) {
  }
  bool first_loss = false;
  {
    const std::lock_guard lock(mutex_);
    if (ends_) return;
    first_loss = is_loss(farewell.kind) && !has_lost_;
    has_lost_ = has_lost_ || first_loss;
    farewells_[peer] = std::move(farewell);
  }
  heard_.notify_all();
  if (first_loss) on_loss_(*this);
}

}  // namespace alibi
