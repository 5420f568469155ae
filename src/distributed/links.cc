#include "distributed/links.h"

#define USE_C10D_GLOO  // without it the header of Gloo's groups is empty

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <condition_variable>
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
#include "distributed/route.h"

namespace alibi {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Group = c10d::ProcessGroupGloo;
using Work = c10::intrusive_ptr<c10d::Work>;
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
constexpr int kTag = 0;
constexpr int kFarewellTag = 1;

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

// The first line of what a library threw: others hold its stack.
std::string reason_of(const std::exception& error) {
  const std::string text = error.what();
  return printable(text.substr(0, text.find('\n')), 200);
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

Work send_to(Group& group, torch::Tensor tensor, int peer, int tag) {
  std::vector<torch::Tensor> one = {std::move(tensor)};
  return group.send(one, peer, tag);
}

Work receive_from(Group& group, torch::Tensor tensor, int peer, int tag) {
  std::vector<torch::Tensor> one = {std::move(tensor)};
  return group.recv(one, peer, tag);
}

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

// What a peer's connection for signs of life tells.
enum class Sign { kNone, kFarewell, kClosed };

}  // namespace

struct Links::Transfer {
  Work work;
  int peer;
};

struct Links::Groups {
  StorePointer store;
  c10::intrusive_ptr<Group> data, signs;
  std::deque<Transfer> on_their_way;  // of an exchange
  // By peer: one receive each, asked for in advance, so that a farewell travels without waiting for
  // the peer to listen. The own entry is empty.
  std::vector<torch::Tensor> farewells;
  std::vector<Work> farewell_works;
};

Links::Links(const WorldPlace& place, milliseconds join_limit, milliseconds exchange_limit)
    : place_(place),
      join_limit_(join_limit),
      exchange_limit_(exchange_limit),
      watchdog_(cat("rank ", place.rank)),
      groups_(std::make_unique<Groups>()) {
  // Gloo writes to connections that a peer closed. The program ignores this anyway (base/stop.h).
  std::signal(SIGPIPE, SIG_IGN);
  stop_recorder();
  watchdog_.arm("joining the other ranks", join_limit_ + kGrace);
  join();
  watchdog_.disarm();
}

Links::~Links() {
  const QuietLibrary quiet;
  watchdog_.arm("leaving the other ranks", kGrace);
  groups_.reset();
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

StorePointer open_tcp_store(const WorldPlace& place, const StoreAddress& address,
                            milliseconds limit) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(address.port);
  options.isServer = is_host(place);
  options.waitWorkers = false;
  options.timeout = limit;
  // The store has no password: it listens no further than it must.
  if (options.isServer && is_loopback_name(address.host)) {
    const int descriptor = bind_to_loopback(address.port);
    if (descriptor < 0)
      throw Error(place.store, "rank 0 cannot listen there, expected a free port",
                  "choose another port (MASTER_PORT or --store)");
    options.masterListenFd = descriptor;
  }
  return c10::make_intrusive<c10d::TCPStore>(address.host, options);
}

StorePointer open_store(const WorldPlace& place, milliseconds limit) {
  const auto address = store_address(place.store);
  StorePointer store = address ? open_tcp_store(place, *address, limit) : open_file_store(place);
  store->setTimeout(limit);
  return c10::make_intrusive<c10d::PrefixStore>("alibi/" + place.prefix, store);
}

// Each rank takes its seat once, and says how many it expects.
void take_seat(c10d::Store& store, const WorldPlace& place) {
  store.set(size_key(place.rank), std::to_string(place.size));
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

void wait_for_seats(c10d::Store& store, const WorldPlace& place, Clock::time_point end) {
  std::vector<std::string> seats;
  for (int rank = 0; rank < place.size; ++rank) seats.push_back(seat(rank));
  if (store_address(place.store)) {
    store.wait(seats, until(end));
  } else {  // c10d's own wait looks into a file once a second only
    while (!store.check(seats)) {
      if (Clock::now() >= end) throw std::runtime_error("no answer in time");
      std::this_thread::sleep_for(milliseconds(10));
    }
  }
  check_sizes(store, place);
}

std::shared_ptr<gloo::transport::Device> open_network(const WorldPlace& place) {
  if (!place.interface.empty()) return Group::createDeviceForInterface(place.interface);
  const auto address = store_address(place.store);
  const bool on_one_machine =
      !address || is_loopback_name(address->host) || place.local_size == place.size;
  if (on_one_machine) return Group::createDeviceForHostname("127.0.0.1");
  const OwnAddress own = own_address_towards(address->host, place.asked_by);
  if (own.is_loopback && place.local_size != 0)
    throw Error(place.asked_by,
                cat("found ", shown(address->host), " to be this machine's loopback (", own.text,
                    "), expected an address that the other machines reach"),
                "set MASTER_ADDR to one");
  if (place.rank == 0)
    log_warning(cat("ranks of several machines talk over ", own.text,
                    " without passwords or encryption: use a network that you trust"));
  return Group::createDeviceForHostname(own.text);
}

}  // namespace

void Links::join() {
  const QuietLibrary quiet;
  const auto end = Clock::now() + join_limit_;
  const std::string expected =
      cat("rank ", place_.rank, " expected ", place_.size, " ranks to meet at ", place_.store,
          " within ", seconds_text(join_limit_));
  try {
    groups_->store = open_store(place_, until(end));
    take_seat(*groups_->store, place_);
    wait_for_seats(*groups_->store, place_, end);
    groups_->store->setTimeout(until(end));
    connect();
  } catch (const std::exception& error) {
    explain_join(error, expected);
  }
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

void Links::connect() {
  const auto device = open_network(place_);
  const auto options = Group::Options::create(groups_->store->getTimeout());
  options->devices = {device};
  options->threads = 1;
  const auto open = [&](const char* name) {
    return c10::make_intrusive<Group>(c10::make_intrusive<c10d::PrefixStore>(name, groups_->store),
                                      place_.rank, place_.size, options);
  };
  groups_->signs = open("signs");
  groups_->data = open("data");
  for (int peer = 0; peer < place_.size; ++peer) {
    groups_->farewells.push_back(torch::zeros({1}, torch::kByte));
    groups_->farewell_works.push_back(
        peer == place_.rank
            ? Work()
            : receive_from(*groups_->signs, groups_->farewells.back(), peer, kFarewellTag));
  }
  // Each connection keeps its order: after this every peer has asked for its farewell.
  groups_->signs->barrier()->wait(options->timeout);
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

std::int64_t Links::exchange(std::span<const torch::Tensor> to, std::span<torch::Tensor> from) {
  check_unbroken();
  const int size = place_.size, rank = place_.rank;
  std::int64_t longest = 0, sent = 0;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    const auto at = static_cast<std::size_t>(peer);
    longest = std::max({longest, byte_count(to[at]), byte_count(from[at])});
    sent += byte_count(to[at]);
  }
  auto& transfers = groups_->on_their_way;
  const std::size_t most = 2 * kPiecesAhead * static_cast<std::size_t>(size - 1);
  const auto add = [&](const torch::Tensor& tensor, std::int64_t begin, int peer, bool sends) {
    const std::int64_t count = std::min(byte_count(tensor) - begin, kPieceBytes);
    if (count <= 0) return;
    const torch::Tensor piece = bytes_of(tensor, begin, count);
    transfers.push_back({sends ? send_to(*groups_->data, piece, peer, kTag)
                               : receive_from(*groups_->data, piece, peer, kTag),
                         peer});
  };
  try {
    // Every rank waits in the order (piece, step), where a send meets its receive at the same
    // place: of all ranks that wait, the one at the earliest place can go on.
    for (std::int64_t begin = 0; begin < longest; begin += kPieceBytes) {
      for (int step = 1; step < size; ++step) {
        const int next = (rank + step) % size, last = (rank - step + size) % size;
        add(from[static_cast<std::size_t>(last)], begin, last, false);
        add(to[static_cast<std::size_t>(next)], begin, next, true);
        for (; transfers.size() > most; transfers.pop_front()) wait_for(transfers.front());
      }
    }
    for (; !transfers.empty(); transfers.pop_front()) wait_for(transfers.front());
  } catch (const std::exception& error) {
    give_up(reason_of(error));
  }
  watchdog_.disarm();
  return sent;
}

void Links::wait_for(const Transfer& transfer) {
  watchdog_.arm("an exchange", exchange_limit_ + kGrace);
  transfer.work->wait(exchange_limit_);
}

std::int64_t Links::all_reduce(torch::Tensor& tensor) {
  check_unbroken();
  watchdog_.arm("a sum over ranks", exchange_limit_ + kGrace);
  try {
    c10d::AllreduceOptions options;
    options.timeout = exchange_limit_;
    std::vector<torch::Tensor> one = {tensor};
    groups_->data->allreduce(one, options)->wait(exchange_limit_);
  } catch (const std::exception& error) {
    give_up(reason_of(error));
  }
  watchdog_.disarm();
  // What a ring sends; c10d does not say.
  return 2 * byte_count(tensor) * (place_.size - 1) / place_.size;
}

namespace {

// Waits, on a thread for each peer, for its farewell or the end of its connection. A wait of Gloo's
// that reaches its own limit closes all connections, so none has one here: they are told to end.
class Listeners {
 public:
  explicit Listeners(const std::vector<Work>& works) : works_(works), signs_(works.size()) {
    for (std::size_t peer = 0; peer < works.size(); ++peer) {
      if (works[peer]) threads_.emplace_back([this, peer] { listen(peer); });
    }
  }
  ~Listeners() {
    for (const Work& work : works_) {
      if (work) work->abort();
    }
    for (std::thread& thread : threads_) thread.join();
  }
  Listeners(const Listeners&) = delete;
  Listeners& operator=(const Listeners&) = delete;

  // Until every peer gave a sign, one closed and the others had a moment to, or the limit.
  std::vector<Sign> hear(milliseconds limit) {
    std::unique_lock lock(mutex_);
    const auto count = [&](Sign sign) { return std::ranges::count(signs_, sign); };
    const auto all_gave = [&] { return count(Sign::kNone) == 1; };  // the own entry
    heard_.wait_for(lock, limit, [&] { return all_gave() || count(Sign::kClosed) > 0; });
    heard_.wait_for(lock, milliseconds(100), all_gave);
    return signs_;
  }

 private:
  void listen(std::size_t peer) {
    Sign sign = Sign::kNone;
    try {
      if (works_[peer]->wait(std::chrono::hours(1))) sign = Sign::kFarewell;
    } catch (const std::exception&) {
      sign = Sign::kClosed;
    }
    const std::lock_guard lock(mutex_);
    signs_[peer] = sign;
    heard_.notify_one();
  }

  const std::vector<Work>& works_;
  std::mutex mutex_;
  std::condition_variable heard_;
  std::vector<Sign> signs_;
  std::vector<std::thread> threads_;
};

std::vector<int> peers_with(Sign sign, const std::vector<Sign>& signs, int own_rank) {
  std::vector<int> peers;
  for (int peer = 0; peer < static_cast<int>(signs.size()); ++peer) {
    if (peer != own_rank && signs[static_cast<std::size_t>(peer)] == sign) peers.push_back(peer);
  }
  return peers;
}

}  // namespace

// Closing the data group makes every other rank's exchange fail, too, and a failed exchange alone
// does not tell who began. So each says farewell on the second group first: a peer whose connection
// there ends without one is lost, and one that says nothing hangs.
void Links::give_up(const std::string& reason) {
  const QuietLibrary quiet;
  watchdog_.arm("finding the lost rank", kGrace);
  const torch::Tensor farewell = torch::ones({1}, torch::kByte);
  std::vector<Work> sent;
  for (int peer = 0; peer < place_.size; ++peer) {
    if (peer == place_.rank) continue;
    try {
      sent.push_back(send_to(*groups_->signs, farewell, peer, kFarewellTag));
    } catch (const std::exception&) {  // lost: its receive tells
    }
  }
  groups_->on_their_way.clear();
  groups_->data.reset();
  const std::vector<Sign> signs =
      Listeners(groups_->farewell_works).hear(std::min(kNamingLimit, exchange_limit_));
  const std::vector<int> closed = peers_with(Sign::kClosed, signs, place_.rank);
  const std::vector<int> silent = peers_with(Sign::kNone, signs, place_.rank);
  const std::string limit = seconds_text(exchange_limit_);
  std::string place = cat("rank ", place_.rank);
  std::string problem = cat("the other ranks gave an exchange up, expected this rank there within ",
                            limit, ": it was slow, or a link failed (", reason, ")");
  if (!closed.empty()) {
    place = ranks_text(closed);
    problem =
        cat("lost: found the connection to rank ", place_.rank, " closed, expected an exchange");
  } else if (!silent.empty()) {
    place = ranks_text(silent);
    problem = cat("lost: rank ", place_.rank, " found no answer, expected one within ", limit);
  }
  broken_.emplace(place, problem, "see what it wrote last, then start all ranks again");
  watchdog_.disarm();
  throw *broken_;
}

}  // namespace alibi
