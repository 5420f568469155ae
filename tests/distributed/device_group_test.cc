// Exchanges by a group of the ranks' devices. There is no device here: a group of the same
// interface moves tensors of the CPU in its place, and counts what it is asked for.
#include "distributed/device_group.h"

#include <gtest/gtest.h>

#include <atomic>

#include "device/libtorch.h"
#include "distributed/device_exchange.h"
#include "distributed/gloo.h"
#include "distributed/ranks.h"
#include "support/error_text.h"

namespace alibi {
namespace {

std::atomic<int> calls = 0;
constexpr int kNever = 1 << 30;

// What a call began; waits for all of it, with the caller's limit.
class SeveralWorks : public c10d::Work {
 public:
  explicit SeveralWorks(std::vector<GlooWork> works) : works_(std::move(works)) {}
  bool wait(std::chrono::milliseconds limit) override {
    for (const GlooWork& work : works_) work->wait(limit);
    return true;
  }

 private:
  std::vector<GlooWork> works_;
};

class HostGroup : public c10d::Backend {
 public:
  HostGroup(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
            std::chrono::milliseconds limit, int fails_from = kNever)
      : c10d::Backend(rank, size), store_(store), limit_(limit), fails_from_(fails_from) {}

  c10::intrusive_ptr<c10d::Work> alltoall(std::vector<torch::Tensor>& from,
                                          std::vector<torch::Tensor>& to,
                                          const c10d::AllToAllOptions& /*options*/) override {
    count(from.front());
    std::vector<GlooWork> works;
    for (int peer = 0; peer < getSize(); ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      if (from[at].numel() > 0) works.push_back(receive_from(group(), from[at], peer, 0));
      if (to[at].numel() > 0) works.push_back(send_to(group(), to[at], peer, 0));
    }
    return c10::make_intrusive<SeveralWorks>(std::move(works));
  }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<torch::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    count(tensors.front());
    return group().allreduce(tensors, options);
  }

 private:
  // What ranks tell each other as bytes goes this way, too, where a device is the CPU.
  void count(const torch::Tensor& tensor) {
    if (own_calls_++ >= fails_from_) throw std::runtime_error("out of order");
    calls += tensor.dtype() == torch::kFloat;
  }

  // Connected by its first use, as NCCL's is: a rank whose peer cannot make its own must not wait.
  GlooGroup& group() {
    if (!group_) {
      const auto options = GlooGroup::Options::create(limit_);
      options->devices = {GlooGroup::createDeviceForHostname("127.0.0.1")};
      options->threads = 1;
      group_ = c10::make_intrusive<GlooGroup>(store_, getRank(), getSize(), options);
    }
    return *group_;
  }

  const c10::intrusive_ptr<c10d::Store> store_;
  const std::chrono::milliseconds limit_;
  const int fails_from_;
  int own_calls_ = 0;
  GlooGroupPointer group_;
};

c10::intrusive_ptr<c10d::Backend> make_host_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                  int rank, int size,
                                                  std::chrono::milliseconds limit) {
  return c10::make_intrusive<HostGroup>(store, rank, size, limit);
}

constexpr DeviceGroupModule kHostModule{.make = make_host_group};

// The device that stands for a GPU, and what tells a rank's from others'.
constexpr torch::DeviceType kType = torch::kCPU;
std::string identity_of(const World& world) { return std::to_string(world.rank()); }

torch::Tensor message(int from, int to) {
  const std::int64_t count = (3 * from + 2 * to + 1) % 4 * 100'000;  // some are empty
  return torch::arange(count, torch::kFloat).add_(10 * from + to);
}

void expect_exchange(World& world) {
  std::vector<torch::Tensor> to, from;
  for (int r = 0; r < world.size(); ++r) {
    to.push_back(message(world.rank(), r));
    from.push_back(r == world.rank() ? torch::Tensor()
                                     : torch::zeros_like(message(r, world.rank())));
  }
  world.exchange(to, from);
  for (int r = 0; r < world.size(); ++r) {
    const torch::Tensor& got = from[static_cast<std::size_t>(r)];
    if (r == world.rank())
      EXPECT_FALSE(got.defined());
    else
      EXPECT_TRUE(torch::equal(got, message(r, world.rank()))) << r << " to " << world.rank();
  }
}

// Seen failing with own entries sent, and with the group's store taken from the ranks' file, which
// is gone by then.
TEST(DeviceGroup, MovesWhatRanksExchange) {
  for (const int size : {2, 3}) {
    calls = 0;
    run_ranks(size, [](World& world) {
      EXPECT_EQ(world.use_devices(kType, identity_of(world), {&kHostModule, {}}), "");
      expect_exchange(world);
      torch::Tensor sum = torch::full({1000}, 1.0F + static_cast<float>(world.rank()));
      world.all_reduce(sum);
      EXPECT_EQ(sum[999].item<float>(), world.size() == 2 ? 3 : 6);
    });
    EXPECT_EQ(calls, 3 * size) << "one tries it";
  }
}

TEST(DeviceGroup, OneRankThatCannotKeepsAllOnTheHost) {
  calls = 0;
  run_ranks(3, [](World& world) {
    const DeviceExchange how =
        world.rank() == 1 ? DeviceExchange{nullptr, "lacks it"} : DeviceExchange{&kHostModule, {}};
    EXPECT_EQ(world.use_devices(kType, identity_of(world), how), "rank 1: lacks it");
    EXPECT_EQ(world.transport(), torch::Device(torch::kCPU));
    expect_exchange(world);
  });
  EXPECT_EQ(calls, 0);
}

TEST(DeviceGroup, TwoRanksOfOneDeviceExchangeThroughTheHost) {
  run_ranks(2, [](World& world) {
    EXPECT_EQ(world.use_devices(kType, "the same", {&kHostModule, {}}),
              "rank 1: has the device of rank 0");
  });
}

TEST(DeviceGroup, AModuleThatThrowsIsAReason) {
  run_ranks(2, [](World& world) {
    const DeviceGroupModule broken{
        .make = [](const c10::intrusive_ptr<c10d::Store>&, int, int,
                   std::chrono::milliseconds) -> c10::intrusive_ptr<c10d::Backend> {
          throw std::runtime_error("no devices found\nand more");
        }};
    EXPECT_EQ(world.use_devices(kType, identity_of(world), {&broken, {}}),
              "rank 0: no devices found");
    expect_exchange(world);
  });
}

TEST(DeviceGroup, OneThatDoesNotSumIsNotUsed) {
  run_ranks(2, [](World& world) {
    const DeviceGroupModule wrong{
        .make = [](const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                   std::chrono::milliseconds limit) -> c10::intrusive_ptr<c10d::Backend> {
          return c10::make_intrusive<HostGroup>(store, rank, size, limit, /*fails_from=*/0);
        }};
    EXPECT_EQ(world.use_devices(kType, identity_of(world), {&wrong, {}}), "rank 0: out of order");
    expect_exchange(world);
  });
}

TEST(DeviceGroup, ADeviceThatFailsIsNamedByAll) {
  run_ranks(
      3,
      [](World& world) {
        const DeviceGroupModule last{
            .make = [](const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                       std::chrono::milliseconds limit) -> c10::intrusive_ptr<c10d::Backend> {
              return c10::make_intrusive<HostGroup>(store, rank, size, limit,
                                                    rank == 1 ? 3 : kNever);
            }};
        ASSERT_EQ(world.use_devices(kType, identity_of(world), {&last, {}}), "");
        const std::string error = error_text([&] {
          while (true) expect_exchange(world);
        });
        EXPECT_EQ(error.find("rank 1"), 0U) << world.rank() << ": " << error;
        EXPECT_NE(error.find("out of order"), std::string::npos) << world.rank() << ": " << error;
      },
      short_limits());
}

TEST(DeviceGroup, ARankThatLeavesIsNamed) {
  run_ranks(
      2,
      [](World& world) {
        ASSERT_EQ(world.use_devices(kType, identity_of(world), {&kHostModule, {}}), "");
        if (world.rank() == 1) return;
        const std::string error = error_text([&] {
          while (true) expect_exchange(world);
        });
        EXPECT_EQ(error.find("rank 1"), 0U) << error;
      },
      short_limits());
}

TEST(DeviceGroup, ALibraryThatIsNotThereIsAReason) {
  const DeviceExchange none = open_device_exchange("/nowhere/x.so");
  EXPECT_EQ(none.module, nullptr);
  EXPECT_NE(none.reason, "");  // with CUDA left out of the build that is it
}

}  // namespace
}  // namespace alibi
