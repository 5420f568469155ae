#include "distributed/world.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include "base/control_groups.h"
#include "base/error.h"
#include "base/host.h"
#include "base/strings.h"
#include "distributed/links.h"
#include "distributed/rank_message.h"
#include "distributed/route.h"

namespace alibi {
namespace {

torch::Tensor bytes_tensor(std::size_t count) {
  return torch::empty({static_cast<std::int64_t>(count)}, torch::kByte);
}

torch::Tensor copied_bytes(const void* data, std::size_t count) {
  torch::Tensor copy = bytes_tensor(count);
  if (count > 0) std::memcpy(copy.data_ptr(), data, count);
  return copy;
}

// What a peer says. It need not be this program: the network has no password.
std::size_t count_from(int rank, double bytes) {
  constexpr double kMost = 1 << 30;
  if (!(bytes >= 0 && bytes <= kMost) || bytes != std::floor(bytes))
    throw Error(cat("rank ", rank),
                cat("sends a text of ", bytes, " bytes, expected at most ", kMost),
                "start every rank with the same program");
  return static_cast<std::size_t>(bytes);
}

bool is_plain(const torch::Tensor& tensor) { return !tensor.defined() || tensor.is_contiguous(); }

}  // namespace

World::World() = default;

World::World(const WorldPlace& place, const WorldOptions& options) : place_(place) {
  ensure(place.rank >= 0 && place.rank < place.size, "a rank is below the number of ranks");
  if (is_alone()) return;
  constexpr std::chrono::milliseconds kLongestBeat{1'000};
  beat_ = std::min(kLongestBeat, options.exchange / 4);
  links_ = std::make_unique<Links>(place, options);
  if (place_.local_size == 0) count_neighbours();
}

World::~World() = default;

void World::count_neighbours() {
  const std::vector<std::string> machines = gather(machine_name());
  const auto own = machines.begin() + rank();
  place_.local_rank = static_cast<int>(std::count(machines.begin(), own, *own));
  place_.local_size = static_cast<int>(std::count(machines.begin(), machines.end(), *own));
}

std::vector<std::string> World::gather(const std::string& mine) {
  if (is_alone()) return {mine};
  const std::array<double, 1> own_size = {static_cast<double>(mine.size())};
  const auto sizes = gather(own_size);
  std::vector<torch::Tensor> pieces;
  for (std::size_t r = 0; r < sizes.size(); ++r)
    pieces.push_back(bytes_tensor(count_from(static_cast<int>(r), sizes[r][0])));
  const auto own = static_cast<std::size_t>(rank());
  pieces[own] = copied_bytes(mine.data(), mine.size());
  share(pieces);
  std::vector<std::string> all;
  for (const torch::Tensor& piece : pieces)
    all.emplace_back(static_cast<const char*>(piece.data_ptr()), piece.nbytes());
  return all;
}

std::vector<std::vector<double>> World::gather(std::span<const double> mine) {
  if (is_alone()) return {{mine.begin(), mine.end()}};
  std::vector<torch::Tensor> pieces;
  for (int r = 0; r < size(); ++r) pieces.push_back(bytes_tensor(mine.size_bytes()));
  pieces[static_cast<std::size_t>(rank())] = copied_bytes(mine.data(), mine.size_bytes());
  share(pieces);
  std::vector<std::vector<double>> all;
  for (const torch::Tensor& piece : pieces) {
    all.emplace_back(mine.size());
    if (!mine.empty()) std::memcpy(all.back().data(), piece.data_ptr(), piece.nbytes());
  }
  return all;
}

std::int64_t World::share_of_processors(const std::filesystem::path& root) {
  const std::string machine = machine_name();
  const auto share = [&](std::int64_t processors, const std::string& of) {
    const auto all = gather(of);
    return std::max<std::int64_t>(1, processors / std::count(all.begin(), all.end(), of));
  };
  const std::vector<int> allowed = allowed_processors();
  std::string bound = machine;
  for (const int processor : allowed) bound += cat(" ", processor);
  const std::int64_t mine = share(std::ssize(allowed), bound);
  constexpr std::int64_t kNoQuota = std::numeric_limits<std::int64_t>::max();
  return std::min(mine, share(processor_quota(root).value_or(kNoQuota),
                              cat(machine, " ", control_group_names(root))));
}

void World::barrier() {
  const std::array<double, 1> nothing = {0};
  gather(nothing);
}

void World::exchange(std::span<const torch::Tensor> to, std::span<torch::Tensor> from) {
  const auto count = static_cast<std::size_t>(size());
  ensure(to.size() == count && from.size() == count, "an exchange has an entry for each rank");
  ensure(std::ranges::all_of(to, is_plain) && std::ranges::all_of(from, is_plain),
         "what is exchanged lies in memory as one piece");
  if (links_) bytes_sent_ += links_->exchange(to, from);
}

void World::share(std::span<torch::Tensor> pieces) {
  if (is_alone()) return;
  const std::vector<torch::Tensor> to(pieces.size(), pieces[static_cast<std::size_t>(rank())]);
  exchange(to, pieces);
}

namespace {

// "rank 1: REASON" of the first rank that has one.
std::string first_reason(const std::vector<std::string>& reasons) {
  const auto some = std::ranges::find_if_not(reasons, &std::string::empty);
  return some == reasons.end() ? "" : cat("rank ", some - reasons.begin(), ": ", *some);
}

}  // namespace

std::string World::use_devices(const torch::Device& device, const std::string& identity,
                               const DeviceExchange& how) {
  if (is_alone()) return {};
  std::string mine = how.reason;
  const auto identities = gather(cat(machine_name(), " ", identity));
  const auto own = identities.begin() + rank();
  if (const auto same = std::find(identities.begin(), own, *own); mine.empty() && same != own)
    mine = cat("has the device of rank ", same - identities.begin());  // NCCL refuses that
  std::string reason = first_reason(gather(mine));
  if (!reason.empty()) return reason;
  const auto offers = gather(is_first() ? links_->offer_device_store() : std::string());
  reason = first_reason(gather(links_->open_device_group(*how.module, offers.front())));
  if (reason.empty()) reason = first_reason(gather(links_->try_device_group(device)));
  links_->use_device_group(reason.empty() ? std::optional(device.type()) : std::nullopt);
  if (reason.empty()) transport_ = device;
  return reason;
}

void World::all_reduce(torch::Tensor& tensor) {
  ensure(is_plain(tensor), "what is summed lies in memory as one piece");
  if (links_) bytes_sent_ += links_->all_reduce(tensor);
}

void World::leave() {
  if (links_) links_->leave(std::nullopt);
}

void World::leave(const Error& error) {
  if (links_) links_->leave(error);
}

namespace {

// What a rank says of its work at each beat: how far it is, and after a failure its message.
constexpr char kWorks = 'w', kDone = 'd', kFailed = 'f';

struct LeftEarly {};

// A rank's own work, as its beats report it.
class ReportedWork {
 public:
  // Runs it and keeps what it throws.
  void run(const std::function<void()>& work) {
    std::string end(1, kDone);
    try {
      work();
    } catch (const LeftEarly&) {
    } catch (const Error& error) {
      thrown_ = std::current_exception();
      end = kFailed + rank_message(error);
    } catch (const std::exception& error) {
      thrown_ = std::current_exception();
      end = kFailed + rank_message(std::string(error.what()));
    } catch (...) {
      thrown_ = std::current_exception();
      end = kFailed + rank_message("what it threw has no text");
    }
    const std::lock_guard lock(mutex_);
    state_ = end;
    ended_.notify_one();
  }
  // Waits until the work ends, or for one beat. One that has ended waits for nothing: so nobody
  // waits for longer than the slowest works.
  std::string state_after(std::chrono::milliseconds beat) {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, beat, [&] { return state_[0] != kWorks; });
    return state_;
  }
  void throw_own() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::string state_ = std::string(1, kWorks);
  std::exception_ptr thrown_;
};

}  // namespace

void World::leave_if_failed_elsewhere() const {
  if (failed_elsewhere_) throw LeftEarly();
}

void World::while_others_wait(const std::function<void()>& work) {
  if (is_alone()) return work();
  ReportedWork own;
  std::exception_ptr lost;
  std::optional<Error> elsewhere;
  failed_elsewhere_ = false;
  std::thread beats([&] {
    const auto is = [](char what) {
      return [what](const std::string& state) { return state[0] == what; };
    };
    try {
      std::vector<std::string> states;
      do {
        states = gather(own.state_after(beat_));
      } while (!std::ranges::all_of(states, is(kDone)) &&
               std::ranges::none_of(states, is(kFailed)));
      const auto failed = std::ranges::find_if(states, is(kFailed));
      if (failed != states.end())
        elsewhere = error_of_rank(static_cast<int>(failed - states.begin()), failed->substr(1));
    } catch (...) {
      lost = std::current_exception();
    }
    failed_elsewhere_ = lost || elsewhere;
  });
  own.run(work);
  beats.join();
  own.throw_own();
  if (lost) std::rethrow_exception(lost);
  if (elsewhere) throw *elsewhere;
}

}  // namespace alibi
