// A mapped file that is cut short while it is read: one line that names it, not SIGBUS. Seen
// failing with install_mapping_guard() left out.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mapped_file.h"
#include "commands/cli_fixture.h"
#include "support/error_text.h"

namespace alibi {
namespace {

TEST(MappingFaultsDeathTest, AFileCutShortIsNamed) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "tokens.shard";
  write_file_atomic(path, std::string(100'000, 'x'));
  EXPECT_EXIT(
      {
        install_mapping_guard();
        const MappedFile other(path);
        MappedFile file(path);
        const MappedFile moved = std::move(file);
        if (::truncate(path.c_str(), 5000) != 0) ::_exit(3);
        std::size_t sum = 0;
        for (const std::byte byte : moved.bytes()) sum += std::to_integer<std::size_t>(byte);
        ::_exit(sum == 0 ? 4 : 5);
      },
      testing::ExitedWithCode(1), "error: .*tokens.shard: ");
}

// Memory of our own that cannot be read stays what it was: a fault of the program, by signal.
TEST(MappingFaultsDeathTest, AnyOtherBusErrorIsNotTakenForOne) {
  EXPECT_EXIT(
      {
        install_mapping_guard();
        ::raise(SIGBUS);
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST(MappingFaultsSlow, AShardCutShortDuringARunIsOneLine) {
  const CliFixture place;
  place.put("text.txt", small_text(3'000'000));
  place.works({"prepare", "tiny.json", "--output", "prepared"});
  RunningProgram running({"train", "tiny.json", "--set", "data.train=[\"prepared\"]", "--set",
                          "data.valid=[]", "--set", "run.train_tokens=100000000"},
                         place.options());
  ASSERT_TRUE(running.wait_for_output("kernel"));
  ::usleep(500'000);
  for (const std::string& name : everything_in(place.path("prepared"))) {
    if (name.starts_with("train") && ::truncate(place.path("prepared/" + name).c_str(), 100) != 0)
      FAIL() << name;
  }
  const ProgramResult result = running.wait();
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_NAMES(result.err, "prepared/train-00000.tokens");
  EXPECT_NAMES(place.read("runs/tiny/alibi.log"), "error:", "prepared/train-00000.tokens");
}

}  // namespace
}  // namespace alibi
