// What is asked once of a device's kernel, and what its answers cost.
#include "device/first_use.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/libtorch.h"
#include "support/error_text.h"

namespace alibi {
namespace {

struct Asked {
  std::string fault, said, thrown;
};

template <class Check>
Asked ask(FirstUse& uses, const Check& check) {
  testing::internal::CaptureStderr();
  Asked asked;
  try {
    asked.fault = uses.fault("kernel nine on cuda:3", "leave it out", check);
  } catch (const std::exception& error) {
    asked.thrown = error.what();
  }
  asked.said = testing::internal::GetCapturedStderr();
  return asked;
}

TEST(FirstUse, AKernelThatIsRightIsAskedOnceAndNothingIsSaid) {
  FirstUse uses;
  int times = 0;
  const auto right = [&times] {
    ++times;
    return std::string();
  };
  for (int n = 0; n < 3; ++n) {
    const Asked asked = ask(uses, right);
    EXPECT_EQ(asked.fault + asked.said, "");
  }
  EXPECT_EQ(times, 1);
  uses.fault("kernel ten", "leave it out", right);
  EXPECT_EQ(times, 2) << "each kind is asked";
}

TEST(FirstUse, AKernelThatIsWrongIsSetAsideWithOneWarning) {
  FirstUse uses;
  const auto wrong = [] { return std::string("the sum is off by 7"); };
  const Asked first = ask(uses, wrong), second = ask(uses, [] { return std::string(); });
  EXPECT_NAMES(first.said, "warning", "kernel nine on cuda:3", "the sum is off by 7",
               "leave it out");
  EXPECT_NAMES(first.fault, "the sum is off by 7", "leave it out");
  EXPECT_EQ(second.fault, first.fault) << "for the life of the process";
  EXPECT_EQ(second.said, "");
}

TEST(FirstUse, AKernelThatCannotBeQueuedIsSetAside) {
  FirstUse uses;
  const Asked own = ask(
      uses, []() -> std::string { throw Error("CUDA device", "no such launch", "go on without"); });
  EXPECT_NAMES(own.fault, "no such launch", "go on without");
  EXPECT_EQ(own.fault.find("leave it out"), std::string::npos) << "one way out is enough";
  EXPECT_NAMES(own.said, "kernel nine on cuda:3", "no such launch");
  FirstUse others;
  const Asked other = ask(others, []() -> std::string {
    throw std::runtime_error("no such operator\nframe 1\nframe 2");
  });
  EXPECT_NAMES(other.fault, "no such operator", "leave it out");
  EXPECT_EQ(other.fault.find("frame"), std::string::npos);
}

// Neither says anything about the kernel: the next question checks again.
TEST(FirstUse, MemoryThatRunsOutAndALostDeviceAreNoAnswer) {
  FirstUse uses;
  const Asked short_of_memory = ask(uses, []() -> std::string { throw std::bad_alloc(); });
  EXPECT_EQ(short_of_memory.thrown, std::bad_alloc().what());
  EXPECT_EQ(short_of_memory.said, "");
  const Asked lost =
      ask(uses, []() -> std::string { throw std::runtime_error("CUDA error: illegal access"); });
  EXPECT_EQ(lost.thrown, "CUDA error: illegal access");
  EXPECT_NAMES(lost.said, "kernel nine on cuda:3", "leave it out");
  const Asked after = ask(uses, [] { return std::string("wrong"); });
  EXPECT_NAMES(after.fault, "wrong");
}

TEST(FirstUse, ThreadsWaitForOneCheck) {
  FirstUse uses;
  std::atomic<int> times = 0, right = 0;
  std::vector<std::jthread> threads;
  for (int n = 0; n < 8; ++n) {
    threads.emplace_back([&] {
      const std::string fault = uses.fault("kernel", "leave it out", [&] {
        ++times;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return std::string();
      });
      right += fault.empty() ? 1 : 0;
    });
  }
  threads.clear();
  EXPECT_EQ(times, 1);
  EXPECT_EQ(right, 8);
}

TEST(FirstUse, TheNumberThatIsTooFarIsNamed) {
  const torch::Tensor expected = torch::tensor({{1.0, 2.0}, {3.0, 4.0}}, torch::kDouble),
                      tenth = torch::tensor(0.1);
  EXPECT_EQ(too_far("x", expected + 0.09, expected, tenth), "");
  EXPECT_EQ(too_far("x", expected.to(torch::kBFloat16), expected, torch::tensor(0.0)), "");
  torch::Tensor found = expected.to(torch::kFloat).clone();
  found[1][0] = 3.25;
  EXPECT_NAMES(too_far("the sum", found, expected, tenth), "the sum", 0.25, "element 2", 0.1);
  EXPECT_EQ(too_far("x", found, expected, expected / 10), "") << "each has its own bound";
  EXPECT_NAMES(too_far("x", found, expected, expected / 20), "element 2", 0.15);
  found[0][1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NAMES(too_far("x", found, expected, expected), "nan", "element 1");
}

}  // namespace
}  // namespace alibi
