// Ranks of one world as threads of one process, which meet in a file.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "distributed/world.h"
#include "support/temporary_folder.h"

namespace alibi {

inline WorldPlace place_of(int rank, int size, const std::string& store) {
  WorldPlace place;
  place.rank = place.local_rank = rank;
  place.size = place.local_size = size;
  place.store = store;
  place.asked_by = "the test";
  return place;
}

// For tests that lose ranks: what waits, waits for seconds.
inline WorldOptions short_limits() {
  using std::chrono::seconds;
  return {seconds(10), seconds(2)};
}

// Runs `call` on every rank; what one throws fails the test.
inline void run_ranks(int size, const std::function<void(World&)>& call,
                      const WorldOptions& options = {}) {
  const TemporaryFolder folder;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        World world(place_of(rank, size, folder.path() / "store"), options);
        call(world);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

}  // namespace alibi
