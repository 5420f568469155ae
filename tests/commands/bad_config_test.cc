// Generated bad configs through the real program (R11): exit code 2, one line, no file made. The
// long form (scripts/torture) runs all of them.
#include <gtest/gtest.h>

#include "commands/workplace.h"
#include "config/generated_bad_configs.h"
#include "faults/rounds.h"

namespace alibi {
namespace {

TEST(BadConfigsSlow, LeaveNothingButOneLine) {
  const Workplace place;
  const auto all = generated_bad_configs();
  const auto every = static_cast<std::size_t>(rounds(20, 1));
  const auto before = everything_in(place.path());
  for (std::size_t i = 0; i < all.size(); i += every) {
    place.put("tiny.json", all[i].text);
    const ProgramResult result = place.run({"train", "tiny.json"});
    EXPECT_EQ(result.code, 2) << all[i].text << "\n" << result.err;
    EXPECT_EQ(result.error_lines(), 1) << all[i].text << "\n" << result.err;
    EXPECT_NE(result.err.find(all[i].pointer), std::string::npos) << result.err;
    EXPECT_EQ(everything_in(place.path()), before) << all[i].text;
  }
}

}  // namespace
}  // namespace alibi
