// What the control groups of a container grant. Seen failing with each kind left out.
#include "base/host.h"

#include <gtest/gtest.h>

#include "support/machine_root.h"

namespace alibi {
namespace {

using Quota = std::optional<std::int64_t>;

TEST(ProcessorQuota, IsNoneWhereNoneIsSet) {
  const MachineRoot machine;
  EXPECT_EQ(processor_quota(machine.path()), std::nullopt);
  machine.put("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(processor_quota(machine.path()), std::nullopt);
  machine.put("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(processor_quota(machine.path()), std::nullopt);
}

TEST(ProcessorQuota, IsTheLeastOfAllGroupsUpToTheRootRoundedUp) {
  const MachineRoot machine;
  machine.put("proc/self/cgroup", "0::/batch/job-7\n");
  machine.put("sys/fs/cgroup/batch/job-7/cpu.max", "max 100000\n");
  machine.put("sys/fs/cgroup/batch/cpu.max", "400000 100000\n");
  EXPECT_EQ(processor_quota(machine.path()), Quota(4));
  machine.put("sys/fs/cgroup/batch/cpu.max", "400001 100000\n");
  EXPECT_EQ(processor_quota(machine.path()), Quota(5));
  machine.put("sys/fs/cgroup/cpu.max", "5000 100000\n");
  EXPECT_EQ(processor_quota(machine.path()), Quota(1));
}

TEST(ProcessorQuota, ReadsGroupsOfTheFirstKind) {
  const MachineRoot machine;
  machine.put("proc/self/cgroup", "5:cpu,cpuacct:/a\n3:memory:/b\n0::/\n");
  machine.put("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
  machine.put("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(processor_quota(machine.path()), std::nullopt);
  machine.put("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(processor_quota(machine.path()), Quota(3));
}

}  // namespace
}  // namespace alibi
