#include <gtest/gtest.h>

#include <unistd.h>

#include <latch>
#include <optional>

#include "base/clock.h"
#include "base/random.h"
#include "base/strings.h"
#include "base/unfinished_work.h"
#include "device/libtorch.h"
#include "distributed/processes.h"
#include "distributed/ranks.h"
#include "distributed/watchdog.h"
#include "support/error_place.h"
#include "support/error_text.h"

namespace alibi {
namespace {

using std::chrono::milliseconds;

void sleep_for(int ms) { std::this_thread::sleep_for(milliseconds(ms)); }

// Exchanges of three pieces with everyone, until something throws.
[[noreturn]] void exchange_for_ever(World& world) {
  std::vector<torch::Tensor> to, from;
  for (int r = 0; r < world.size(); ++r) {
    to.push_back(torch::ones({600'000}));
    from.push_back(torch::zeros({600'000}));
  }
  while (true) world.exchange(to, from);
}

[[noreturn]] void sum_for_ever(World& world) {
  torch::Tensor x = torch::zeros({600'000});
  while (true) world.all_reduce(x);
}

// All that a step may do, with a moment of work between.
[[noreturn]] void do_all_for_ever(World& world) {
  torch::Tensor x = torch::zeros({200'000});
  for (int i = 0; true; ++i) {
    world.gather(std::string(static_cast<std::size_t>(i % 100), 'x'));
    if (i % 3 == world.rank() % 3) sleep_for(2);
    std::vector<torch::Tensor> pieces;
    for (int r = 0; r < world.size(); ++r) pieces.push_back(torch::ones({1 + i % 7 * 100'000}));
    world.share(pieces);
    world.all_reduce(x);
    if (i % 5 == 0) world.while_others_wait([&] { sleep_for(world.rank()); });
  }
}

// As a small model does: little in each exchange, so that most moments lie where a peer has asked
// for a piece, or just sent one, and is not there to take it any more.
[[noreturn]] void exchange_little_for_ever(World& world) {
  const std::vector<double> numbers(5, 1.0);
  for (int i = 0; true; ++i) {
    world.gather(std::span<const double>(numbers));
    std::vector<torch::Tensor> to, from;
    for (int r = 0; r < world.size(); ++r) {
      to.push_back(torch::ones({2'000}));
      from.push_back(torch::zeros({2'000}));
    }
    world.exchange(to, from);
    world.share(from);
    if (i % 3 == world.rank() % 3) usleep(500);
  }
}

struct Loss {
  int size = 3, rank = 2, number = SIGKILL;
  int after_us = 100'000;  // since all ranks have begun
  int exchange_ms = 10'000;
  double limit = 2;  // s
};

// Ranks that do `call` for ever; one is lost in the middle of it, and the others name it.
void expect_loss(const Loss& loss, void (*call)(World&)) {
  ForkedRanks ranks;
  ranks.start_world(loss.size, {milliseconds(20'000), milliseconds(loss.exchange_ms)},
                    [&](World& world) {
                      world.barrier();
                      ranks.mark_ready(world.rank());
                      call(world);
                    });
  ranks.wait_until_ready();
  usleep(static_cast<useconds_t>(loss.after_us));
  const double hit = seconds_now();
  ranks.signal(loss.rank, loss.number);
  for (int rank = 0; rank < loss.size; ++rank) {
    if (rank == loss.rank) continue;
    const RankEnd end = ranks.wait(rank);
    // 3: the call threw. 1: on a busy machine the watchdog was faster. Both name the rank.
    EXPECT_TRUE(end.code == 3 || end.code == 1) << end.code << ": " << end.text;
    EXPECT_ERROR_AT(end.text, cat("rank ", loss.rank));
    EXPECT_LT(end.at_seconds - hit, loss.limit) << end.text;
  }
}

// Seen naming survivors, too, without farewells.
TEST(WorldFaults, AKilledRankIsNamedWithinTwoSeconds) {
  for (const int size : {2, 3, 4}) expect_loss({.size = size, .rank = size - 1}, exchange_for_ever);
  expect_loss({.size = 4, .rank = 0}, sum_for_ever);
}

TEST(WorldFaults, AStoppedRankIsNamedAfterTheLimit) {
  expect_loss({.number = SIGSTOP, .exchange_ms = 400, .limit = 0.4 + 5}, exchange_for_ever);
  expect_loss({.number = SIGSTOP, .exchange_ms = 400, .limit = 0.4 + 5}, sum_for_ever);
}

TEST(WorldFaultsSlow, LossesAtAnyMomentAreNamed) {
  constexpr RandomKey kKey{17};
  const auto below = [&](int end, std::uint64_t i) {
    return static_cast<int>(uniform(kKey, i) * end);
  };
  for (std::uint64_t i = 0; i < 60 && !testing::Test::HasFailure(); ++i) {
    const int size = 2 + below(3, 4 * i);
    SCOPED_TRACE(i);
    Loss loss = {.size = size, .rank = below(size, 4 * i + 1)};
    loss.after_us = below(60'000, 4 * i + 2);
    if (i % 6 == 5) {
      loss.number = SIGSTOP;
      loss.exchange_ms = 400;
      loss.limit = 0.4 + 5;
    }
    expect_loss(loss, do_all_for_ever);
  }
}

// Seen failing at ac251f5, two times of three: a send to a rank that had asked for it and was
// killed waited until the limit.
TEST(WorldFaultsSlow, LossesAmongSmallExchangesAreNoticedAtOnce) {
  const RandomKey key = RandomKey{20261125}.with("loss");
  for (std::uint64_t round = 0; round < 150 && !testing::Test::HasFailure(); ++round) {
    Loss loss;
    loss.rank = static_cast<int>(3 * uniform(key.with("rank"), round));
    loss.after_us = static_cast<int>(10'000 * uniform(key.with("moment"), round));
    loss.limit = 5;
    expect_loss(loss, exchange_little_for_ever);
  }
}

// A rank that leaves by an error of its own; one that is busy then, and comes later; the others.
TEST(WorldFaults, EachSurvivorNamesTheRankThatLeftAndNoOther) {
  run_ranks(4, [](World& world) {
    world.barrier();
    if (world.rank() == 2) return;  // its world ends
    if (world.rank() == 1) sleep_for(700);
    const double start = seconds_now();
    EXPECT_EQ(error_place([&] { world.barrier(); }), "rank 2 1");
    EXPECT_LT(seconds_now() - start, 1);
    EXPECT_EQ(error_place([&] { world.barrier(); }), "rank 2 1");  // from then on
    torch::Tensor x = torch::ones({3});
    EXPECT_EQ(error_place([&] { world.all_reduce(x); }), "rank 2 1");
  });
}

// Both are told at once, one that waits and one that is busy for long: that one ends by its
// watchdog. Seen failing where only exchanges noticed a loss.
TEST(WorldFaults, ABusyRankLeavesWithinTwoSeconds) {
  ForkedRanks ranks;
  ranks.start_world(3, {milliseconds(20'000), milliseconds(10'000)}, [&](World& world) {
    world.barrier();
    ranks.mark_ready(world.rank());
    if (world.rank() > 0) sleep_for(20'000);
    world.barrier();
  });
  ranks.wait_until_ready();
  const double hit = seconds_now();
  ranks.signal(2, SIGKILL);
  for (const int rank : {0, 1}) {
    const RankEnd end = ranks.wait(rank);
    EXPECT_EQ(end.code, rank == 0 ? 3 : 1) << end.text;
    EXPECT_ERROR_AT(end.text, "rank 2");
    EXPECT_LT(end.at_seconds - hit, 2) << rank;
  }
}

// A checkpoint of which all parts are there. Seen failing: it was dropped before its last rename.
TEST(WorldFaults, ABusyRankEndsWorkThatIsNotToBeCutOff) {
  ForkedRanks ranks;
  ranks.start_world(2, {milliseconds(20'000), milliseconds(10'000)}, [&](World& world) {
    world.barrier();
    std::optional<UnfinishedWork> unfinished;
    if (world.rank() == 0) unfinished.emplace();
    ranks.mark_ready(world.rank());
    sleep_for(world.rank() == 0 ? 3'000 : 20'000);
    unfinished.reset();
    sleep_for(20'000);
  });
  ranks.wait_until_ready();
  const double hit = seconds_now();
  ranks.signal(1, SIGKILL);
  const RankEnd end = ranks.wait(0);
  EXPECT_EQ(end.code, 1) << end.text;
  EXPECT_ERROR_AT(end.text, "rank 1");
  EXPECT_GT(end.at_seconds - hit, 2.5);
  EXPECT_LT(end.at_seconds - hit, 4.5);
}

// Seen failing where farewells held no text.
TEST(WorldFaults, TheOthersThrowTheErrorOfARankThatFails) {
  run_ranks(3, [](World& world) {
    const Error error("disk", "is full", "make room");
    if (world.rank() == 1) {
      world.barrier();
      return world.leave(error);
    }
    // In either: the first may still be under way here when it has ended there.
    const auto both = [&] {
      world.barrier();
      world.barrier();
    };
    EXPECT_EQ(error_text(both), cat("rank 1: ", error.what()));
  });
}

// A rank that is done goes on with work of its own while another is killed. Seen failing where it
// had not said that it is done.
TEST(WorldFaults, ARankThatIsDoneOutlivesTheOthers) {
  ForkedRanks ranks;
  ranks.start_world(2, {milliseconds(20'000), milliseconds(10'000)}, [&](World& world) {
    world.barrier();
    if (world.rank() == 0) world.leave();
    ranks.mark_ready(world.rank());
    sleep_for(world.rank() == 0 ? 2'500 : 20'000);
  });
  ranks.wait_until_ready();
  ranks.signal(1, SIGKILL);
  EXPECT_EQ(ranks.wait(0).code, 0);
}

// In a ring a rank hears of its neighbours only. These stay a while after their error, as a run
// does that still writes something.
TEST(WorldFaults, ARankFarFromTheLostOneLearnsOfItAtOnce) {
  std::latch all_know(3);
  run_ranks(4,
            [&](World& world) {
              world.barrier();
              if (world.rank() == 2) return;
              torch::Tensor x = torch::ones({1'000'000});
              const double start = seconds_now();
              EXPECT_EQ(error_place([&] { world.all_reduce(x); }), "rank 2 1");
              EXPECT_LT(seconds_now() - start, 1.5);
              all_know.arrive_and_wait();
            },
            {milliseconds(10'000), milliseconds(4'000)});
}

TEST(WorldFaults, ALateRankIsNamedByOthersAndByItself) {
  run_ranks(2,
            [](World& world) {
              world.barrier();
              if (world.rank() == 1) sleep_for(900);
              EXPECT_EQ(error_place([&] { world.barrier(); }), "rank 1 1");
            },
            {milliseconds(10'000), milliseconds(200)});
}

TEST(WorldFaults, TheLastMessageArrivesThoughItsSenderLeaves) {
  run_ranks(3, [](World& world) {
    std::vector<torch::Tensor> pieces;
    for (int r = 0; r < 3; ++r)
      pieces.push_back(torch::full({700'000}, r == world.rank() ? r + 1 : 0));
    if (world.rank() == 1) sleep_for(100);
    world.share(pieces);
    for (int r = 0; r < 3; ++r)
      EXPECT_TRUE(torch::equal(pieces[static_cast<std::size_t>(r)], torch::full({700'000}, r + 1)));
  });
}

// Seen failing with beats further apart than an exchange may take.
TEST(WorldWaiting, WorkMayTakeLongerThanAnExchange) {
  run_ranks(3,
            [](World& world) {
              double waited = seconds_now();
              bool worked = false;
              world.while_others_wait([&] {
                if (world.rank() == 1) sleep_for(1'200);
                worked = true;
              });
              waited = seconds_now() - waited;
              EXPECT_TRUE(worked);
              EXPECT_GE(waited, 1.1);
              EXPECT_LT(waited, 1.7);
              EXPECT_EQ(world.gather(cat(world.rank())), (std::vector<std::string>{"0", "1", "2"}));
            },
            {milliseconds(10'000), milliseconds(400)});
}

// Seen failing where work that has ended waited for its beat.
TEST(WorldWaiting, ShortWorkIsNotHeldUp) {
  run_ranks(2, [](World& world) {
    const double start = seconds_now();
    for (int i = 0; i < 20; ++i) world.while_others_wait([] {});
    EXPECT_LT(seconds_now() - start, 0.9);  // one beat is 1 s
  });
}

TEST(WorldWaiting, AnErrorOfOneEndsAll) {
  run_ranks(3, [](World& world) {
    std::string text;
    int code = 0;
    try {
      world.while_others_wait([&] {
        if (world.rank() == 1) throw usage_error("text.txt", "found nothing");
      });
    } catch (const Error& error) {
      text = error.what();
      code = static_cast<int>(error.exit_code());
    }
    EXPECT_EQ(code, 2);
    EXPECT_EQ(text,
              world.rank() == 1 ? "text.txt: found nothing" : "rank 1: text.txt: found nothing");
    world.barrier();  // nobody is lost
  });
}

TEST(WorldWaiting, AnotherExceptionEndsAllToo) {
  run_ranks(2, [](World& world) {
    const auto call = [&] {
      world.while_others_wait([&] {
        if (world.rank() == 0) throw std::runtime_error("broken");
      });
    };
    if (world.rank() == 0)
      EXPECT_THROW(call(), std::runtime_error);
    else
      EXPECT_ERROR_AT(error_text(call), "rank 0", "broken");
  });
}

TEST(WorldWaiting, AKilledRankIsNamed) {
  ForkedRanks ranks;
  ranks.start_world(3, {milliseconds(20'000), milliseconds(4'000)}, [&](World& world) {
    world.barrier();
    ranks.mark_ready(world.rank());
    world.while_others_wait([&] {
      if (world.rank() == 2) sleep(20);
    });
  });
  ranks.wait_until_ready();
  usleep(100'000);
  const double hit = seconds_now();
  ranks.signal(2, SIGKILL);
  for (const int rank : {0, 1}) {
    const RankEnd end = ranks.wait(rank);
    EXPECT_EQ(end.code, 3) << end.text;
    EXPECT_ERROR_AT(end.text, "rank 2");
    EXPECT_LT(end.at_seconds - hit, 2);
  }
}

// Seen failing without the waking for an earlier deadline, and with a disarm that did nothing.
TEST(WorldWatchdog, EndsTheProcessOnlyWhereNobodyDisarmsIt) {
  ForkedRanks ranks;
  ranks.start([] {
    Watchdog watchdog;
    watchdog.arm("rank 7: a first call", milliseconds(60'000));
    sleep_for(50);
    watchdog.arm("rank 7: a second call", milliseconds(100));  // earlier than what it slept for
    sleep_for(10'000);
  });
  ranks.start([] {
    Watchdog watchdog;
    for (int i = 0; i < 20; ++i) {
      watchdog.arm("a call", milliseconds(150));  // anew each time
      sleep_for(20);
    }
    watchdog.disarm();
    sleep_for(300);
  });
  const double start = seconds_now();
  const RankEnd bitten = ranks.wait(0);
  EXPECT_EQ(bitten.code, 1);
  EXPECT_LT(bitten.at_seconds - start, 2);
  EXPECT_ERROR_AT(bitten.text, "rank 7", "a second call");
  EXPECT_EQ(std::count(bitten.text.begin(), bitten.text.end(), '\n'), 1);
  const RankEnd spared = ranks.wait(1);
  EXPECT_EQ(spared.code, 0);
  EXPECT_EQ(spared.text, "");
}

}  // namespace
}  // namespace alibi
