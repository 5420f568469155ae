#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/strings.h"
#include "distributed/processes.h"
#include "distributed/ranks.h"
#include "distributed/route.h"
#include "support/error_place.h"
#include "support/error_text.h"

namespace alibi {
namespace {

using std::chrono::milliseconds;

int free_port() {
  const int descriptor = bind_to_loopback(0);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  close(descriptor);
  return ntohs(address.sin_port);
}

std::string tcp_store() { return cat("tcp://127.0.0.1:", free_port()); }

// Joins the world that each place describes, each `apart` after the one before; the message of each
// one's Error, or "".
std::vector<std::string> join_all(const std::vector<WorldPlace>& places, milliseconds limit,
                                  milliseconds apart = milliseconds(0)) {
  std::vector<std::string> ends(places.size());
  std::vector<std::thread> ranks;
  for (std::size_t i = 0; i < places.size(); ++i) {
    ranks.emplace_back([&, i] {
      std::this_thread::sleep_for(apart * i);
      try {
        World world(places[i], {limit, milliseconds(5'000)});
        world.barrier();
      } catch (const Error& error) {
        ends[i] = error.what();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return ends;
}

TEST(WorldJoin, MeetsInAFileAndAtAPort) {
  const TemporaryFolder folder;
  for (const std::string& store : {(folder.path() / "store").string(), tcp_store()}) {
    std::vector<WorldPlace> places;
    for (int rank = 0; rank < 4; ++rank) places.push_back(place_of(rank, 4, store));
    EXPECT_EQ(join_all(places, milliseconds(10'000)), std::vector<std::string>(4)) << store;
  }
}

// Seen failing where the host of the port left at once.
TEST(WorldJoin, NamesWhoIsMissingAndWhoAskedForThem) {
  const TemporaryFolder folder;
  for (const std::string& store : {(folder.path() / "store").string(), tcp_store()}) {
    // Who finds no port yet tries again after up to a second. Who comes later still asks a store
    // whose host gives up earlier.
    const int limit = store_address(store) ? 1'700 : 800;
    const auto ends = join_all({place_of(0, 4, store), place_of(2, 4, store)}, milliseconds(limit),
                               milliseconds(200));
    for (const std::string& end : ends) EXPECT_ERROR_AT(end, "the test", "ranks 1, 3", limit / 1e3);
  }
}

TEST(WorldJoin, AnAbsentHostOfThePortEndsInAnError) {
  const std::string store = tcp_store();
  EXPECT_ERROR_AT(join_all({place_of(1, 2, store)}, milliseconds(300))[0], "the test", store, 1, 2);
}

TEST(WorldJoin, RefusesARankThatJoinsTwice) {
  const TemporaryFolder folder;
  const std::string store = folder.path() / "store";
  const auto ends = join_all({place_of(0, 2, store), place_of(0, 2, store)}, milliseconds(800),
                             milliseconds(200));
  EXPECT_ERROR_AT(ends[0], "the test", "rank 1");
  EXPECT_ERROR_AT(ends[1], "the test", "rank 0", store);
}

// Seen failing: the second start found rank 0 there, and waited for it.
TEST(WorldJoin, AStartThatNobodyJoinsLeavesNoFile) {
  const TemporaryFolder folder;
  const std::string store = folder.path() / "store";
  const std::vector<WorldPlace> both = {place_of(0, 2, store), place_of(1, 2, store)};
  for (const int alone : {0, 1}) {
    EXPECT_ERROR_AT(join_all({both[static_cast<std::size_t>(alone)]}, milliseconds(100))[0],
                    "the test", cat("rank ", 1 - alone));
    EXPECT_FALSE(std::filesystem::exists(store));
  }
  EXPECT_EQ(join_all(both, milliseconds(10'000)), std::vector<std::string>(2));
}

TEST(WorldJoin, LeavesNoFileBehindOnceAllAreThere) {
  const TemporaryFolder folder;
  const std::string store = folder.path() / "store";
  for (int start = 0; start < 2; ++start) {  // the same file again
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 3; ++rank) {
      ranks.emplace_back([&, rank] {
        World world(place_of(rank, 3, store), {});
        world.barrier();
        EXPECT_FALSE(std::filesystem::exists(store));
      });
    }
    for (std::thread& rank : ranks) rank.join();
    EXPECT_FALSE(std::filesystem::exists(store));
  }
}

// What a launcher's restart of the same job finds. Seen refused with one prefix for all.
TEST(WorldJoin, APrefixTellsOneStartFromAnother) {
  const TemporaryFolder folder;
  WorldPlace first = place_of(0, 2, folder.path() / "store");
  WorldPlace second = place_of(1, 2, first.store);
  first.prefix = second.prefix = "0";
  WorldPlace third = place_of(2, 3, first.store);
  first = place_of(0, 3, first.store);
  second = place_of(1, 3, first.store);
  first.prefix = second.prefix = "0";
  EXPECT_NE(join_all({first, second}, milliseconds(300))[0], "");  // their seats stay
  first.prefix = second.prefix = third.prefix = "1";
  EXPECT_EQ(join_all({first, second, third}, milliseconds(10'000)), std::vector<std::string>(3));
}

TEST(WorldJoin, RefusesTwoOpinionsOnTheSize) {
  const TemporaryFolder folder;
  const std::string store = folder.path() / "store";
  const auto ends = join_all({place_of(0, 2, store), place_of(1, 3, store)}, milliseconds(300));
  EXPECT_ERROR_AT(ends[0], "the test", "2 ranks", "3");
  EXPECT_ERROR_AT(ends[1], "the test", "3 ranks", "2");
}

TEST(WorldJoin, RefusesAFileWithoutAFolderAtOnce) {
  const TemporaryFolder folder;
  const std::string store = folder.path() / "no" / "store";
  EXPECT_EQ(error_place([&] { World(place_of(0, 2, store), {}); }), store + " 1");
}

TEST(WorldJoin, RefusesATakenPort) {
  const int port = free_port();
  const std::string store = cat("tcp://127.0.0.1:", port);
  const int taken = bind_to_loopback(port);
  listen(taken, 1);
  EXPECT_EQ(error_place([&] { World(place_of(0, 2, store), {}); }), store + " 1");
  close(taken);
}

// Debian names the machine itself 127.0.1.1. Seen failing with a store that is sought by the name.
TEST(WorldJoin, EveryNameOfTheLoopbackIsOne) {
  for (const std::string host : {"[::1]", "127.0.1.1", "localhost"}) {
    const std::string store = cat("tcp://", host, ":", free_port());
    EXPECT_EQ(join_all({place_of(0, 2, store), place_of(1, 2, store)}, milliseconds(10'000)),
              std::vector<std::string>(2))
        << host;
  }
}

// As torchrun's agent does.
TEST(WorldJoin, AHostedStoreHasNoHostAmongTheRanks) {
  const std::string store = tcp_store();
  std::vector<WorldPlace> places = {place_of(0, 2, store), place_of(1, 2, store)};
  std::vector<WorldPlace> hosted = places;
  for (WorldPlace& place : hosted) {
    place.store_is_hosted = true;
    place.prefix = "hosted";
  }
  EXPECT_NE(join_all(hosted, milliseconds(300))[0], "");
  std::thread guest([&] { World(places[1], {}).barrier(); });
  World host(places[0], {});
  EXPECT_EQ(join_all(hosted, milliseconds(10'000)), std::vector<std::string>(2));
  host.barrier();
  guest.join();
}

TEST(WorldJoin, CountsTheRanksOfAMachineWhereNobodySaysThem) {
  const TemporaryFolder folder;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank] {
      WorldPlace place = place_of(rank, 3, folder.path() / "store");
      place.local_rank = place.local_size = 0;
      const World world(place, {});
      EXPECT_EQ(world.local_rank(), rank);
      EXPECT_EQ(world.local_size(), 3);
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST(WorldRoute, FindsTheOwnAddress) {
  EXPECT_EQ(own_address_towards("127.0.0.1", "here").text, "127.0.0.1");
  EXPECT_TRUE(own_address_towards("127.0.0.1", "here").is_loopback);
  EXPECT_EQ(error_place([] { own_address_towards("no such host", "here"); }), "here 1");
  EXPECT_EQ(machine_name(), machine_name());
  EXPECT_EQ(loopback_name(), loopback_name());
  EXPECT_GT(machine_name().size(), 30U);
}

// Its calls hang beyond their own limits then.
TEST(WorldJoinSlow, AStoppedHostOfThePortEndsTheProcess) {
  const std::string store = tcp_store();
  ForkedRanks ranks;
  ranks.start([&] { World(place_of(0, 3, store), {milliseconds(30'000), milliseconds(1'000)}); });
  ranks.start([&] {
    usleep(500'000);
    World(place_of(1, 3, store), {milliseconds(1'000), milliseconds(1'000)});
  });
  usleep(300'000);
  const double stopped = seconds_now();
  ranks.signal(0, SIGSTOP);
  const RankEnd end = ranks.wait(1);
  EXPECT_TRUE(end.code == 1 || end.code == 3) << end.code;
  EXPECT_LT(end.at_seconds - stopped, 0.2 + 1 + 5 + 1);
  EXPECT_KEYWORD(end.text, "rank 1");
}

}  // namespace
}  // namespace alibi
