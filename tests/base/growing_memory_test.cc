#include "base/growing_memory.h"

#include <gtest/gtest.h>

#include <new>

namespace alibi {
namespace {

TEST(GrowingMemory, KeepsWhatWasThere) {
  GrowingMemory memory;
  std::size_t written = 0;
  for (const std::size_t count : {10, 5, 5000, 300'000}) {
    auto* const data = static_cast<int*>(memory.grow(count * sizeof(int)));
    for (std::size_t i = 0; i < written; ++i) ASSERT_EQ(data[i], static_cast<int>(i) + 1);
    for (; written < count; ++written) {
      ASSERT_EQ(data[written], 0);
      data[written] = static_cast<int>(written) + 1;
    }
  }
}

TEST(GrowingMemory, ThatIsTooMuchLeavesWhatThereIs) {
  GrowingMemory memory;
  *static_cast<int*>(memory.grow(sizeof(int))) = 7;
  EXPECT_THROW(memory.grow(std::size_t{1} << 60), std::bad_alloc);
  EXPECT_EQ(*static_cast<int*>(memory.grow(1)), 7);
}

}  // namespace
}  // namespace alibi
