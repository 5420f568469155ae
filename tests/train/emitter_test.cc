// Events reach every sink in order, and what happens when one cannot take them.
#include "train/emitter.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace alibi {
namespace {

class TestSink final : public Sink {
 public:
  explicit TestSink(bool fails = false) : fails_(fails) {}
  void take(const Event& event) override {
    if (fails_ && std::holds_alternative<StepRecord>(event)) throw Error("log", "disk full");
    taken.push_back(event);
  }
  void sync() override {
    if (fails_) throw Error("log", "disk full");
    ++synced;
  }

  std::vector<Event> taken;
  int synced = 0;

 private:
  bool fails_;
};

// Seen failing with the sinks behind the one that fails left out.
TEST(Emitter, TellsOfASinkThatFailsAndGoesOn) {
  Emitter emitter(FailedSave::kWarn);
  TestSink log(true), terminal;
  emitter.set_sinks({&log, &terminal});
  emitter.emit(StepRecord{.step = 3});
  emitter.emit(SaveRecord{.step = 3, .folder = "f"});
  ASSERT_EQ(terminal.taken.size(), 3U);
  EXPECT_NE(std::get<SaveFailure>(terminal.taken[0]).problem.find("disk full"), std::string::npos);
  EXPECT_EQ(std::get<StepRecord>(terminal.taken[1]).step, 3);
  EXPECT_EQ(std::get<SaveRecord>(terminal.taken[2]).folder, "f");
  emitter.sync();
  EXPECT_EQ(terminal.taken.size(), 4U);
  EXPECT_EQ(terminal.synced, 1);
}

TEST(Emitter, EndsTheRunWhereFailuresAreNotAllowed) {
  Emitter emitter(FailedSave::kStop);
  TestSink log(true);
  emitter.set_sinks({&log});
  EXPECT_THROW(emitter.emit(StepRecord{}), Error);
  EXPECT_THROW(emitter.sync(), Error);
  EXPECT_TRUE(log.taken.empty());
}

TEST(Emitter, AttemptsAWriteByTheSameRule) {
  const auto fail = [] { throw Error("disk", "full"); };
  TestSink terminal;
  Emitter warns(FailedSave::kWarn), stops(FailedSave::kStop);
  warns.set_sinks({&terminal});
  EXPECT_FALSE(warns.attempt(fail));
  EXPECT_EQ(terminal.taken.size(), 1U);
  EXPECT_TRUE(warns.attempt([] {}));
  EXPECT_THROW(stops.attempt(fail), Error);
}

}  // namespace
}  // namespace alibi
