// A disk that is really full: a small file system of its own, in a private mount namespace. Seen
// failing with checkpoints written under their final name and left there, with what was written
// aside left, and with the way out left off the error.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "commands/cli_fixture.h"
#include "support/error_text.h"

namespace alibi {
namespace {

// Runs `command` in the shell with a file system of `size` mounted at runs/, seen by it alone.
ProgramResult run_on_disk(const CliFixture& place, const std::string& size,
                          const std::string& command) {
  ProgramOptions options = place.options();
  options.program = "/bin/sh";
  return run_program({"-c", "exec unshare -m sh -c 'mount -t tmpfs -o size=" + size +
                                " tmpfs runs || exit 77; " + command + "'"},
                     options);
}

TEST(FullDisk, LeavesNoHalfCheckpointAndSaysTheWayOut) {
  const CliFixture place;
  std::filesystem::create_directory(place.path("runs"));
  if (run_on_disk(place, "1m", "true").code != 0)
    GTEST_SKIP() << "no private mount here (unshare -m, mount -t tmpfs)";
  place.works({"prepare", "tiny.json"});
  const std::string train = ALIBI_BINARY
      " train tiny.json; code=$?; ls -A runs/tiny/checkpoints; "
      "exit $code";
  const ProgramResult full = run_on_disk(place, "64k", train);
  EXPECT_EQ(full.code, 1) << full.err;
  EXPECT_NAMES(full.err, "runs/tiny", std::strerror(ENOSPC), "--resume");
  EXPECT_EQ(full.out.find("step-"), std::string::npos) << full.out;
  const ProgramResult enough = run_on_disk(place, "4m", train);
  EXPECT_EQ(enough.code, 0) << enough.err;
  EXPECT_NE(enough.out.find("step-00000020"), std::string::npos) << enough.out;
}

}  // namespace
}  // namespace alibi
