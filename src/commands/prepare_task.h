// alibi prepare --task: texts of a task as a .jsonl file of messages (data/README.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace alibi {

struct TaskFile {
  std::string task;
  std::vector<std::int64_t> sizes;  // least and most, or one for all
  std::int64_t texts = 1000;
  std::uint64_t seed = 0;
  double ignored = 0.8, idle = 0;
  std::string output;
};

// Text n is a pure function of the others and of n. Throws Error where an option is wrong, or the
// file is there.
void write_task_file(const TaskFile& file);

}  // namespace alibi
