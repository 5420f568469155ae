// Work of any thread that a process which is about to leave at once comes to the end of first: a
// checkpoint of which every part is there.
#pragma once

namespace alibi {

class UnfinishedWork {  // while one lives
 public:
  UnfinishedWork() noexcept;
  ~UnfinishedWork();
  UnfinishedWork(const UnfinishedWork&) = delete;
  UnfinishedWork& operator=(const UnfinishedWork&) = delete;
};

bool has_unfinished_work() noexcept;

}  // namespace alibi
