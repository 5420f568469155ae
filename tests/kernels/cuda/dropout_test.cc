// The device's dropout mask, its very source, run on the host: the processor's numbers.
#include <gtest/gtest.h>

#include "kernels/cuda/dropout_example.h"

namespace alibi {
namespace {

// Fewer numbers than a counter has, fewer than a block takes at once, more, and tails. Seen failing
// with the words of the row exchanged.
TEST(DeviceDropout, DrawsTheProcessorsNumbers) {
  for (const int width : {1, 3, 4, 65, 511, 512, 513, 770, 1030}) {
    for (const double p : {0.0, 0.1, 0.75}) {
      DropoutExample example(width, p);
      run_dropout(example.work());
      EXPECT_EQ(example.mask, example.expected()) << width << " " << p;
    }
  }
}

}  // namespace
}  // namespace alibi
