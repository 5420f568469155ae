// Several processes of the real program.
#include <gtest/gtest.h>

#include "commands/cli_fixture.h"
#include "support/error_text.h"

namespace alibi {
namespace {

// How many ranks share a machine is known once they have met. Seen failing by a division by zero.
TEST(Ranks, OnSeveralMachinesAreStartedByFlags) {
  const CliFixture place;
  const ProgramResult result =
      place.run({"train", "tiny.json", "--set", "run.name=apart", "--rank", "0", "--world-size",
                 "2", "--store", "tcp://192.0.2.1:29500", "--join-timeout", "1"});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_ERROR_AT(result.err, "--rank, --world-size, --store");
}

}  // namespace
}  // namespace alibi
