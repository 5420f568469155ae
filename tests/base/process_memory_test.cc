// Which limit counts: free memory, control groups of both kinds, ulimit -v. Seen failing with each
// of them left out.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process_memory.h"
#include "support/error_text.h"
#include "support/machine_root.h"

namespace alibi {
namespace {

// proc/ and sys/ as a machine shows them.
class Machine : public MachineRoot {
 public:
  Machine() {
    put("proc/meminfo", "MemTotal: 32000000 kB\nMemAvailable:  8000 kB\nSwapFree: 100 kB\n");
    put("proc/self/status", "VmSize: 90 kB\nVmData: 90 kB\nVmRSS:\t  24 kB\n");
  }
  MemoryLimit limit() const { return memory_limit(path()); }
};

constexpr std::int64_t kFree = (8000 + 100 + 24) * 1024;

TEST(MemoryLimit, IsWhatTheMachineHasFree) {
  const Machine machine;
  EXPECT_EQ(machine.limit().bytes, kFree);
  EXPECT_NAMES(machine.limit().source, "machine");
}

TEST(MemoryLimit, IsTheLeastOfAllGroupsUpToTheRoot) {
  const Machine machine;
  machine.put("proc/self/cgroup", "0::/batch/job-7\n");
  machine.put("sys/fs/cgroup/batch/job-7/memory.max", "max\n");
  EXPECT_EQ(machine.limit().bytes, kFree);
  machine.put("sys/fs/cgroup/batch/memory.max", "4000000\n");
  EXPECT_EQ(machine.limit().bytes, 4000000);
  EXPECT_NAMES(machine.limit().source, "memory.max");
  machine.put("sys/fs/cgroup/batch/job-7/memory.max", "3000000\n");
  EXPECT_EQ(machine.limit().bytes, 3000000);
  machine.put("sys/fs/cgroup/memory.max",
              "2000000\n");  // a container sees its own group as the root
  EXPECT_EQ(machine.limit().bytes, 2000000);
  machine.put("sys/fs/cgroup/memory.max", "9223372036854771712\n");
  EXPECT_EQ(machine.limit().bytes, 3000000);
}

TEST(MemoryLimit, ReadsGroupsOfTheFirstKind) {
  const Machine machine;
  machine.put("proc/self/cgroup", "5:cpu,cpuacct:/a\n3:memory:/b/c\n0::/\n");
  machine.put("sys/fs/cgroup/memory/b/c/memory.limit_in_bytes", "5000000\n");
  machine.put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(machine.limit().bytes, 5000000);
  EXPECT_NAMES(machine.limit().source, "control group");
}

TEST(MemoryLimit, TakesUlimitLessWhatIsMappedOnly) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer maps more than any limit";
#endif
  constexpr int kNotKept = 77;
  for (const bool data : {false, true}) {
    const pid_t child = ::fork();
    if (child == 0) {
      const Machine machine;
      const rlimit limit{std::uint64_t{1} << 40, RLIM_INFINITY};
      machine.put("proc/meminfo", "MemAvailable: 9000000000000 kB\n");
      const auto which = data ? RLIMIT_DATA : RLIMIT_AS;
      rlimit kept{};
      const bool limited = ::setrlimit(which, &limit) == 0 && ::getrlimit(which, &kept) == 0;
      if (kept.rlim_cur != limit.rlim_cur) ::_exit(kNotKept);
      const MemoryLimit found = machine.limit();
      const std::int64_t expected = (std::int64_t{1} << 40) - (90 - 24) * 1024;
      const char* source = data ? "ulimit -d" : "ulimit -v";
      ::_exit(limited && found.bytes == expected && found.source == source ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNotKept)
      GTEST_SKIP() << "limits of memory are not kept here, as under qemu-user";
    EXPECT_EQ(status, 0) << data;
  }
}

TEST(MemoryLimit, OfThisMachineIsAboveWhatThisTestHolds) {
  EXPECT_GT(memory_limit().bytes, resident_bytes());
  EXPECT_FALSE(memory_limit().source.empty());
}

}  // namespace
}  // namespace alibi
