#include "distributed/links.h"

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/strings.h"
#include "device/libtorch.h"
#include "distributed/device_group.h"
#include "distributed/farewells.h"
#include "distributed/gloo.h"
#include "distributed/rank_message.h"
#include "distributed/route.h"

namespace alibi {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using StorePointer = c10::intrusive_ptr<c10d::Store>;

// Small enough that the pieces of several peers share a link, large enough that each costs little:
// whole tensors reached half of a 1 Gbit link's rate, these all of it.
constexpr std::int64_t kPieceBytes = 1 << 20;
constexpr std::size_t kPiecesAhead = 4;      // on their way, for each peer and direction
constexpr milliseconds kGrace{5'000};        // of the watchdog, beyond a call's own limit
constexpr milliseconds kNamingLimit{2'000};  // for peers to say that they live, after a failure
constexpr const char* kJoinWayOut =
    "start every rank, or unset the variables to run alone; for ranks that start late wait longer: "
    "--join-timeout";
constexpr milliseconds kLeaveLimit{1'500};  // for a busy rank to notice that a peer is lost
constexpr int kTag = 0;
constexpr const char* kNoPort = "none";

milliseconds until(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
  return std::max(left, milliseconds(1));
}

torch::Tensor bytes_of(const torch::Tensor& tensor, std::int64_t begin, std::int64_t count) {
  return torch::from_blob(static_cast<char*>(tensor.data_ptr()) + begin, {count}, torch::kByte);
}

std::int64_t byte_count(const torch::Tensor& tensor) {
  return tensor.defined() ? static_cast<std::int64_t>(tensor.nbytes()) : 0;
}

std::string reason_of(const std::exception& error) {
  return printable(first_line(error.what()), 200);
}

std::string seconds_text(milliseconds time) {
  return cat(significant(static_cast<double>(time.count()) / 1e3, 4), " s");
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> names;
  for (const int rank : ranks) names.push_back(std::to_string(rank));
  return cat(ranks.size() == 1 ? "rank " : "ranks ", join(names, ", "));
}

// Keys in the store.
std::string seat(int rank) { return cat("taken/", rank); }
std::string size_key(int rank) { return cat("size/", rank); }
std::string machine_key(int rank) { return cat("machine/", rank); }

// c10d records each collective for its own tools, in a table of the process that it does not lock:
// ranks that are threads crashed there. Read once by c10d, so set before its first use.
void stop_recorder() {
  static std::once_flag once;
  std::call_once(once, [] { ::setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/0); });
}

// While it lives, c10d does not write to stderr what it throws as well, with its stack. One that
// asks for its messages by TORCH_CPP_LOG_LEVEL gets them.
class QuietLibrary {
 public:
  QuietLibrary() {
    constexpr int kAboveAll = 4;
    if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) FLAGS_caffe2_log_level = kAboveAll;
  }
  ~QuietLibrary() { FLAGS_caffe2_log_level = before_; }
  QuietLibrary(const QuietLibrary&) = delete;
  QuietLibrary& operator=(const QuietLibrary&) = delete;

 private:
  const int before_ = FLAGS_caffe2_log_level;
};

}  // namespace

struct Links::Transfer {
  GlooWork work;
  int peer;
};

struct Links::Groups {
  StorePointer store;
  GlooGroupPointer data;
  StorePointer device_store;  // where there is no other that stays
  c10::intrusive_ptr<c10d::Backend> devices;
  std::optional<torch::DeviceType> device_type;  // that they are used for
  std::mutex mutex;
  std::deque<Transfer> on_their_way;  // of an exchange; changed under the mutex
  std::unique_ptr<Farewells> farewells;

  void add(Transfer transfer) {
    const std::lock_guard lock(mutex);
    on_their_way.push_back(std::move(transfer));
  }
  void remove_first() {
    const std::lock_guard lock(mutex);
    on_their_way.pop_front();
  }
  // c10d complains of one that is let go of without it. May take long where a peer is lost.
  void close_devices() {
    try {
      if (devices) devices->abort();
    } catch (const std::exception&) {  // it goes anyway
    }
    devices.reset();
    device_store.reset();
  }
  // A send whose peer asked for it and died may never be told (Gloo takes it off its list first).
  void abort() {
    const std::lock_guard lock(mutex);
    for (const Transfer& transfer : on_their_way) transfer.work->abort();
  }
};

Links::Links(const WorldPlace& place, const WorldOptions& options)
    : place_(place),
      join_limit_(options.join),
      exchange_limit_(options.exchange),
      while_joining_(options.while_joining ? options.while_joining : [] {}),
      groups_(std::make_unique<Groups>()) {
  // Gloo writes to connections that a peer closed. The program ignores this anyway (base/stop.h).
  std::signal(SIGPIPE, SIG_IGN);
  stop_recorder();
  watch("joining the other ranks", join_limit_ + kGrace);
  join();
  watchdog_.disarm();
}

Links::~Links() {
  const QuietLibrary quiet;
  watch("leaving the other ranks", kGrace);
  if (groups_->farewells) groups_->farewells->say(Farewells::Kind::kEnds);
  groups_->close_devices();
  groups_.reset();
}

void Links::watch(const char* what, milliseconds limit) {
  watchdog_.arm(
      cat("rank ", place_.rank, ": ", what, " has not come back within ", seconds_text(limit),
          " (a peer, the network or the host of the store hangs; start all ranks again)"),
      limit);
}

namespace {

// Whether the store at a port lives in this process.
bool is_host(const WorldPlace& place) {
  return place.rank == 0 && !place.store_is_hosted && store_address(place.store).has_value();
}

StorePointer open_file_store(const WorldPlace& place) {
  // c10d waits for a folder as if it were about to come.
  const std::filesystem::path folder = std::filesystem::absolute(place.store).parent_path();
  if (!std::filesystem::is_directory(folder))
    throw Error(place.store, "its folder is not there, expected one that every rank sees",
                "make the folder, or give another path");
  // Nor does it bear that the file goes while a rank uses it: one that is made anew and shorter
  // holds `get` for ever. So c10d, which removes it where it counts so many leavers, is told of no
  // number.
  constexpr int kNeverRemove = -1;
  return c10::make_intrusive<c10d::FileStore>(place.store, kNeverRemove);
}

// c10d's own wait for a host that is not there yet cannot be ended: so it waits in turns.
StorePointer open_tcp_store(const WorldPlace& place, const StoreAddress& address,
                            Clock::time_point end, const std::function<void()>& while_joining) {
  constexpr milliseconds kTurn{1'000};
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(address.port);
  options.isServer = is_host(place);
  options.waitWorkers = false;
  // The store has no password: where all are on this machine, nobody else reaches it. By any name
  // of the loopback, since it has several.
  const bool is_here = !place.store_is_hosted && is_loopback_name(address.host);
  const std::string host = is_here ? "127.0.0.1" : address.host;
  if (options.isServer && is_here) {
    const int descriptor = bind_to_loopback(address.port);
    if (descriptor < 0)
      throw Error(place.store, "rank 0 cannot listen there, expected a free port",
                  "choose another port (MASTER_PORT or --store)");
    options.masterListenFd = descriptor;
  }
  while (true) {
    while_joining();
    options.timeout = options.isServer ? until(end) : std::min(kTurn, until(end));
    try {
      return c10::make_intrusive<c10d::TCPStore>(host, options);
    } catch (const std::exception&) {
      if (options.isServer || Clock::now() >= end) throw;
    }
  }
}

StorePointer open_store(const WorldPlace& place, Clock::time_point end,
                        const std::function<void()>& while_joining) {
  const auto address = store_address(place.store);
  StorePointer store =
      address ? open_tcp_store(place, *address, end, while_joining) : open_file_store(place);
  store->setTimeout(until(end));
  return c10::make_intrusive<c10d::PrefixStore>("alibi/" + place.prefix, store);
}

// Each rank takes its seat once, and says how many it expects, and where it is.
void take_seat(c10d::Store& store, const WorldPlace& place) {
  store.set(size_key(place.rank), std::to_string(place.size));
  store.set(machine_key(place.rank), loopback_name());
  if (store.add(seat(place.rank), 1) != 1)
    throw Error(place.asked_by,
                cat("rank ", place.rank, " has joined twice at ", place.store,
                    ", expected each rank once and a store that no other run used"),
                "give each process a rank of its own, and a new store to each start");
}

// Throws where a rank that is here expects another number of ranks.
void check_sizes(c10d::Store& store, const WorldPlace& place) {
  for (int rank = 0; rank < place.size; ++rank) {
    if (!store.check({seat(rank)})) continue;
    const std::string size = store.get_to_str(size_key(rank));
    if (size != std::to_string(place.size))
      throw Error(place.asked_by,
                  cat("found ", place.size, " ranks at rank ", place.rank, " and ",
                      printable(size, 20), " at rank ", rank, ", expected one number"),
                  "start all ranks with the same number of them");
  }
}

std::vector<int> missing_ranks(c10d::Store& store, int size) {
  std::vector<int> missing;
  for (int rank = 0; rank < size; ++rank) {
    if (!store.check({seat(rank)})) missing.push_back(rank);
  }
  return missing;
}

// Throws what the store tells of ranks that have not come; nothing where it does not answer.
void find_missing(c10d::Store& store, const WorldPlace& place, const std::string& expected) {
  try {
    check_sizes(store, place);
    const std::vector<int> missing = missing_ranks(store, place.size);
    if (!missing.empty())
      throw Error(place.asked_by, cat(expected, ", found ", ranks_text(missing), " missing"),
                  kJoinWayOut);
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
  }
}

// Not by c10d's own wait, which nothing ends, and which looks into a file once a second only.
void wait_for_seats(c10d::Store& store, const WorldPlace& place, Clock::time_point end,
                    const std::function<void()>& while_joining) {
  std::vector<std::string> seats;
  for (int rank = 0; rank < place.size; ++rank) seats.push_back(seat(rank));
  while (!store.check(seats)) {
    while_joining();
    if (Clock::now() >= end) throw std::runtime_error("no answer in time");
    std::this_thread::sleep_for(milliseconds(store_address(place.store) ? 50 : 10));
  }
  check_sizes(store, place);
}

bool share_loopback(c10d::Store& store, const WorldPlace& place) {
  for (int rank = 0; rank < place.size; ++rank)
    if (store.get_to_str(machine_key(rank)) != loopback_name()) return false;
  return true;
}

std::shared_ptr<gloo::transport::Device> open_network(const WorldPlace& place, c10d::Store& store) {
  if (!place.interface.empty()) return GlooGroup::createDeviceForInterface(place.interface);
  const auto address = store_address(place.store);
  const bool on_one_machine =
      (address && is_loopback_name(address->host)) || share_loopback(store, place);
  if (on_one_machine) return GlooGroup::createDeviceForHostname("127.0.0.1");
  if (!address)
    throw Error(place.asked_by,
                cat("found ranks of several machines at the file ", place.store,
                    ", expected an address where they meet"),
                "--store tcp://HOST:PORT");
  const OwnAddress own = own_address_towards(address->host, place.asked_by);
  if (own.is_loopback)
    throw Error(place.asked_by,
                cat("found ", shown(address->host), " to be this machine's loopback (", own.text,
                    "), expected an address that the other machines reach"),
                "set MASTER_ADDR to one");
  if (place.rank == 0)
    log_warning(cat("ranks of several machines talk over ", own.text,
                    " without passwords or encryption: use a network that you trust"));
  return GlooGroup::createDeviceForHostname(own.text);
}

}  // namespace

void Links::join() {
  const QuietLibrary quiet;
  const auto end = Clock::now() + join_limit_;
  const std::string expected =
      cat("rank ", place_.rank, " expected ", place_.size, " ranks to meet at ", place_.store,
          " within ", seconds_text(join_limit_));
  bool is_seated = false;
  try {
    groups_->store = open_store(place_, end, while_joining_);
    take_seat(*groups_->store, place_);
    is_seated = true;
    wait_for_seats(*groups_->store, place_, end, while_joining_);
    groups_->store->setTimeout(until(end));
    connect();
  } catch (const std::exception& error) {
    try {
      explain_join(error, expected);  // from the store
    } catch (const Error&) {
      if (is_seated) forget_own_seat();
      throw;
    }
  }
}

// The next start would take the seat in a file for a live rank's. While others are there, they
// still read the file.
void Links::forget_own_seat() {
  if (store_address(place_.store)) return;
  try {
    if (std::ssize(missing_ranks(*groups_->store, place_.size)) < place_.size - 1) return;
  } catch (const std::exception&) {
    return;
  }
  std::error_code ignored;
  std::filesystem::remove(place_.store, ignored);
}

void Links::explain_join(const std::exception& error, const std::string& expected) {
  try {
    if (dynamic_cast<const Error*>(&error) != nullptr) throw;
    if (groups_->store) find_missing(*groups_->store, place_, expected);
    throw Error(place_.asked_by, cat(expected, ", found ", reason_of(error)), kJoinWayOut);
  } catch (const Error&) {
    // With its host the store goes: others, whose limit ends a little later, still ask it.
    if (is_host(place_) && groups_->store) std::this_thread::sleep_for(milliseconds(500));
    throw;
  }
}

namespace {

std::vector<int> ranks_with(Farewells::Kind kind, const std::vector<Farewells::Farewell>& heard,
                            int own_rank) {
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(heard.size()); ++rank) {
    if (rank != own_rank && heard[static_cast<std::size_t>(rank)].kind == kind)
      ranks.push_back(rank);
  }
  return ranks;
}

Error who_is_lost(const WorldPlace& place, milliseconds exchange_limit,
                  const std::vector<Farewells::Farewell>& heard, const std::string& reason) {
  using Kind = Farewells::Kind;
  const auto with = [&](Kind kind) { return ranks_with(kind, heard, place.rank); };
  const auto lost = [&](const std::vector<int>& ranks, const std::string& problem) {
    return Error(ranks_text(ranks), problem, "see what it wrote last, then start all ranks again");
  };
  const std::string limit = seconds_text(exchange_limit);
  if (const auto failed = with(Kind::kFails); !failed.empty())
    return error_of_rank(failed.front(), heard[static_cast<std::size_t>(failed.front())].text);
  if (const auto closed = with(Kind::kClosed); !closed.empty()) {
    return lost(closed, cat("lost: found the connection to rank ", place.rank,
                            " closed, expected an exchange"));
  }
  if (const auto silent = with(Kind::kNone); !silent.empty()) {
    return lost(silent,
                cat("lost: rank ", place.rank, " found no answer, expected one within ", limit));
  }
  if (const auto ended = with(Kind::kEnds); !ended.empty())
    return lost(ended, cat("has left, rank ", place.rank, " expected an exchange"));
  return lost({place.rank},
              cat("the other ranks gave an exchange up, expected this rank there within ", limit,
                  ": it was slow, or a link failed (", reason, ")"));
}

}  // namespace

void Links::connect() {
  const auto device = open_network(place_, *groups_->store);
  const auto options = GlooGroup::Options::create(groups_->store->getTimeout());
  options->devices = {device};
  options->threads = 1;
  const auto open = [&](const char* name) {
    return c10::make_intrusive<GlooGroup>(
        c10::make_intrusive<c10d::PrefixStore>(name, groups_->store), place_.rank, place_.size,
        options);
  };
  groups_->farewells = std::make_unique<Farewells>(
      open("farewells"), [this, groups = groups_.get()](Farewells& farewells) {
        if (!farewells.say(Farewells::Kind::kGivesUp)) return;
        const auto heard = farewells.hear(milliseconds(0));
        arm_busy(who_is_lost(place_, exchange_limit_, heard, ""));
        groups->abort();
      });
  groups_->data = open("data");
  groups_->data->barrier()->wait(options->timeout);
  // Nobody asks the store any more: a killed run leaves no file that the next would take for its
  // own.
  if (place_.rank == 0 && !store_address(place_.store)) {
    std::error_code ignored;
    std::filesystem::remove(place_.store, ignored);
  }
}

void Links::check_unbroken() const {
  if (broken_) throw *broken_;
}

std::string Links::offer_device_store() {
  if (store_address(place_.store)) return {};
  // A file is removed once all have met. Such ranks share a machine.
  const QuietLibrary quiet;
  const int listening = bind_to_loopback(0);
  if (listening < 0) return kNoPort;
  c10d::TCPStoreOptions options;
  options.isServer = true;
  options.waitWorkers = false;
  options.masterListenFd = listening;
  options.port = static_cast<std::uint16_t>(port_of(listening));
  options.timeout = exchange_limit_;
  try {
    groups_->device_store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  } catch (const std::exception&) {
    return kNoPort;
  }
  return std::to_string(options.port);
}

std::string Links::open_device_group(const DeviceGroupModule& module, const std::string& offered) {
  const QuietLibrary quiet;
  try {
    if (offered == kNoPort) return "rank 0 cannot listen on 127.0.0.1";
    if (offered.empty()) {
      groups_->device_store = c10::make_intrusive<c10d::PrefixStore>("devices", groups_->store);
    } else if (!groups_->device_store) {
      c10d::TCPStoreOptions options;
      options.port = static_cast<std::uint16_t>(std::stoi(offered));
      options.timeout = exchange_limit_;
      groups_->device_store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
    }
    groups_->device_store->setTimeout(exchange_limit_);
    groups_->devices =
        module.make(groups_->device_store, place_.rank, place_.size, exchange_limit_);
    return {};
  } catch (const std::exception& error) {
    return reason_of(error);
  }
}

std::string Links::try_device_group(const torch::Device& device) {
  const QuietLibrary quiet;
  watch("connecting devices", exchange_limit_ + kGrace);
  std::string reason;
  try {
    std::vector<torch::Tensor> one = {torch::ones({1}, torch::dtype(torch::kFloat).device(device))};
    c10d::AllreduceOptions options;
    options.timeout = exchange_limit_;
    groups_->devices->allreduce(one, options)->wait(exchange_limit_);
    const auto sum = one[0].item<float>();
    if (sum != static_cast<float>(place_.size))
      reason = cat("sums ", place_.size, " ones to ", sum);
  } catch (const std::exception& error) {
    reason = reason_of(error);
  }
  watchdog_.disarm();
  return reason;
}

void Links::use_device_group(std::optional<torch::DeviceType> type) {
  groups_->device_type = type;
  if (!type) groups_->close_devices();
}

bool Links::on_device(std::span<const torch::Tensor> tensors) const {
  return groups_->device_type && std::ranges::any_of(tensors, [&](const torch::Tensor& tensor) {
           return tensor.defined() && tensor.device().type() == *groups_->device_type;
         });
}

std::int64_t Links::exchange(std::span<const torch::Tensor> to, std::span<torch::Tensor> from) {
  check_unbroken();
  std::int64_t sent = 0;
  for (std::size_t peer = 0; peer < to.size(); ++peer)
    if (std::cmp_not_equal(peer, place_.rank)) sent += byte_count(to[peer]);
  const bool device = on_device(to) || on_device(from);
  const auto begin = Clock::now();
  try {
    if (device)
      exchange_on_device(to, from);
    else
      exchange_in_pieces(to, from);
  } catch (const std::exception& error) {
    if (device && Clock::now() < begin + exchange_limit_) fail_alone(reason_of(error));
    give_up(reason_of(error));
  }
  watchdog_.disarm();
  return sent;
}

void Links::exchange_on_device(std::span<const torch::Tensor> to, std::span<torch::Tensor> from) {
  std::vector<torch::Tensor> sends(to.begin(), to.end()), receives(from.begin(), from.end());
  const torch::Tensor& any = on_device(to)
                                 ? *std::ranges::find_if(sends, &torch::Tensor::defined)
                                 : *std::ranges::find_if(receives, &torch::Tensor::defined);
  const torch::Tensor nothing = torch::empty({0}, any.options());
  const auto own = static_cast<std::size_t>(place_.rank);
  sends[own] = receives[own] = nothing;
  for (std::size_t peer = 0; peer < sends.size(); ++peer) {
    if (!sends[peer].defined()) sends[peer] = nothing;
    if (!receives[peer].defined()) receives[peer] = nothing;
  }
  c10d::AllToAllOptions options;
  options.timeout = exchange_limit_;
  watch("an exchange of devices", exchange_limit_ + kGrace);
  // With a limit it waits until the device is done, as the other groups do.
  groups_->devices->alltoall(receives, sends, options)->wait(exchange_limit_);
}

void Links::exchange_in_pieces(std::span<const torch::Tensor> to, std::span<torch::Tensor> from) {
  const int size = place_.size, rank = place_.rank;
  std::int64_t longest = 0;
  for (int peer = 0; peer < size; ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    if (peer != rank) longest = std::max({longest, byte_count(to[at]), byte_count(from[at])});
  }
  const auto& transfers = groups_->on_their_way;
  const std::size_t most = 2 * kPiecesAhead * static_cast<std::size_t>(size - 1);
  const auto add = [&](const torch::Tensor& tensor, std::int64_t begin, int peer, bool sends) {
    const std::int64_t count = std::min(byte_count(tensor) - begin, kPieceBytes);
    if (count <= 0) return;
    const torch::Tensor piece = bytes_of(tensor, begin, count);
    groups_->add({sends ? send_to(*groups_->data, piece, peer, kTag)
                        : receive_from(*groups_->data, piece, peer, kTag),
                  peer});
  };
  // Every rank waits in the order (piece, step), where a send meets its receive at the same
  // place: of all ranks that wait, the one at the earliest place can go on.
  for (std::int64_t begin = 0; begin < longest; begin += kPieceBytes) {
    for (int step = 1; step < size; ++step) {
      const int next = (rank + step) % size, last = (rank - step + size) % size;
      add(from[static_cast<std::size_t>(last)], begin, last, false);
      add(to[static_cast<std::size_t>(next)], begin, next, true);
      while (transfers.size() > most) wait_for_first();
    }
  }
  while (!transfers.empty()) wait_for_first();
}

void Links::wait_for_first() {
  watch("an exchange", exchange_limit_ + kGrace);
  if (!groups_->on_their_way.front().work->wait(exchange_limit_))
    throw std::runtime_error("a peer is lost");
  groups_->remove_first();
}

std::int64_t Links::all_reduce(torch::Tensor& tensor) {
  check_unbroken();
  watch("a sum over ranks", exchange_limit_ + kGrace);
  std::vector<torch::Tensor> one = {tensor};
  const bool device = on_device(one);
  const auto begin = Clock::now();
  try {
    c10d::AllreduceOptions options;
    options.timeout = exchange_limit_;
    c10d::Backend& group = device ? *groups_->devices : *groups_->data;
    group.allreduce(one, options)->wait(exchange_limit_);
  } catch (const std::exception& error) {
    if (device && Clock::now() < begin + exchange_limit_) fail_alone(reason_of(error));
    give_up(reason_of(error));
  }
  watchdog_.disarm();
  // What a ring sends; c10d does not say.
  return 2 * byte_count(tensor) * (place_.size - 1) / place_.size;
}

// A device that fails does not show in the group of Gloo: the others are told, where none of them
// is what failed.
void Links::fail_alone(const std::string& reason) {
  const auto heard = groups_->farewells->hear(milliseconds(100));
  using Kind = Farewells::Kind;
  for (const Kind kind : {Kind::kFails, Kind::kClosed, Kind::kEnds})
    if (!ranks_with(kind, heard, place_.rank).empty()) return;
  const Error error(cat("rank ", place_.rank), cat("an exchange of devices failed: ", reason),
                    "start again; --set runtime.device=cpu goes without");
  broken_.emplace(error);
  leave(error);
  throw error;
}

// Closing the data group makes every other rank's exchange fail, too, so each says first that it
// only gives up.
void Links::give_up(const std::string& reason) {
  const QuietLibrary quiet;
  watch("finding the lost rank", kGrace);
  groups_->farewells->say(Farewells::Kind::kGivesUp);
  while (!groups_->on_their_way.empty()) groups_->remove_first();
  groups_->data.reset();
  const auto heard = groups_->farewells->hear(std::min(kNamingLimit, exchange_limit_));
  broken_.emplace(who_is_lost(place_, exchange_limit_, heard, reason));
  if (groups_->devices) {  // may take its time
    watchdog_.arm(broken_->what(), kGrace);
    groups_->close_devices();
  }
  // A thread beside the owner's cannot end what that is at.
  if (std::this_thread::get_id() == owner_)
    notice();
  else
    arm_busy(*broken_);
  watchdog_.disarm();
  throw *broken_;
}

// The owner may have noticed meanwhile, and is leaving by itself.
void Links::arm_busy(const Error& lost) {
  busy_.arm(lost.what(), kLeaveLimit);
  if (noticed_) busy_.disarm();
}

void Links::notice() {
  noticed_ = true;
  busy_.disarm();
}

void Links::leave(const std::optional<Error>& error) {
  const QuietLibrary quiet;
  notice();
  watch("leaving the other ranks", kGrace);
  if (error)
    groups_->farewells->say(Farewells::Kind::kFails, rank_message(*error));
  else
    groups_->farewells->say(Farewells::Kind::kEnds);
  watchdog_.disarm();
}

}  // namespace alibi
