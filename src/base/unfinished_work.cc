#include "base/unfinished_work.h"

#include <atomic>

namespace alibi {
namespace {

std::atomic<int> count = 0;

}  // namespace

UnfinishedWork::UnfinishedWork() noexcept { ++count; }
UnfinishedWork::~UnfinishedWork() { --count; }

bool has_unfinished_work() noexcept { return count > 0; }

}  // namespace alibi
