// How many processors the control groups of a container grant. Seen failing with each kind left
// out.
#include "base/host.h"

#include <gtest/gtest.h>

#include "support/machine_root.h"

namespace alibi {
namespace {

class GrantedProcessors : public testing::Test {
 protected:
  void SetUp() override {
    if (allowed_ < 2) GTEST_SKIP() << "one processor: nothing grants fewer";
  }
  std::int64_t granted() const { return granted_processors(machine_.path()); }

  MachineRoot machine_;
  std::int64_t allowed_ = std::ssize(allowed_processors());
};

TEST_F(GrantedProcessors, AreThoseAllowedWithoutAQuota) {
  EXPECT_EQ(granted(), allowed_);
  machine_.put("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(granted(), allowed_);
  machine_.put("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(granted(), allowed_);
  machine_.put("sys/fs/cgroup/cpu.max", "90000000 100000\n");
  EXPECT_EQ(granted(), std::min<std::int64_t>(allowed_, 900));
}

TEST_F(GrantedProcessors, AreTheLeastOfAllGroupsUpToTheRoot) {
  machine_.put("proc/self/cgroup", "0::/batch/job-7\n");
  machine_.put("sys/fs/cgroup/batch/job-7/cpu.max", "max 100000\n");
  machine_.put("sys/fs/cgroup/batch/cpu.max", "100000 100000\n");
  EXPECT_EQ(granted(), 1);
  machine_.put("sys/fs/cgroup/batch/cpu.max", "100001 100000\n");  // rounded up
  EXPECT_EQ(granted(), 2);
  machine_.put("sys/fs/cgroup/cpu.max", "5000 100000\n");
  EXPECT_EQ(granted(), 1);
}

TEST_F(GrantedProcessors, ReadsGroupsOfTheFirstKind) {
  machine_.put("proc/self/cgroup", "5:cpu,cpuacct:/a\n3:memory:/b\n0::/\n");
  machine_.put("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
  machine_.put("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(granted(), allowed_);
  machine_.put("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(granted(), 1);
}

}  // namespace
}  // namespace alibi
