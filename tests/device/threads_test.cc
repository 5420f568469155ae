// How many threads a program starts with. Seen failing: all cores within a container's quota of
// one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/host.h"
#include "device/device.h"
#include "support/machine_root.h"

namespace alibi {
namespace {

TEST(Threads, AreNoMoreThanAContainerGrantsUnlessChosen) {
  if (allowed_processors().size() < 2) GTEST_SKIP() << "one processor: nothing grants fewer";
  const MachineRoot machine;
  machine.put("proc/self/cgroup", "0::/\n");
  machine.put("sys/fs/cgroup/cpu.max", "100000 100000\n");
  const char* chosen = std::getenv("OMP_NUM_THREADS");
  const std::string before = chosen != nullptr ? chosen : "";
  const int threads = set_threads(0);
  set_threads(2);

  ::setenv("OMP_NUM_THREADS", "2", 1);
  limit_threads(machine.path());
  EXPECT_EQ(set_threads(0), 2);
  ::setenv("OMP_NUM_THREADS", "", 1);
  limit_threads(machine.path());
  EXPECT_EQ(set_threads(0), 1);
  ::unsetenv("OMP_NUM_THREADS");
  set_threads(2);
  limit_threads(machine.path());
  EXPECT_EQ(set_threads(0), 1);
  machine.put("sys/fs/cgroup/cpu.max", "200000 100000\n");  // no more than there were
  limit_threads(machine.path());
  EXPECT_EQ(set_threads(0), 1);

  if (chosen != nullptr) ::setenv("OMP_NUM_THREADS", before.c_str(), 1);
  set_threads(threads);
}

}  // namespace
}  // namespace alibi
