#include "commands/prepare_task.h"

#include <cstdio>

#include "base/error.h"
#include "base/files.h"
#include "base/json/write.h"
#include "base/stop.h"
#include "base/strings.h"
#include "commands/atomic_output.h"
#include "report/table.h"
#include "text/tasks.h"

namespace alibi {
namespace {

const TextTask& task_of(const TaskFile& file) {
  const TextTask* const task = find_task(file.task);
  ensure(task != nullptr, "the command line knows the names");
  return *task;
}

struct Sizes {
  std::int64_t least, most;
};

Sizes sizes_of(const TaskFile& file, const TextTask& task) {
  if (file.sizes.empty() || file.sizes.size() > 2)
    throw usage_error("--sizes", "expected the least and the most, or one for all", "--sizes 4,32");
  const Sizes sizes{file.sizes.front(), file.sizes.back()};
  if (sizes.least < task.least || sizes.most > task.most || sizes.least > sizes.most) {
    throw usage_error("--sizes", cat("found ", sizes.least, " to ", sizes.most,
                                     ", expected the least first, within ", task.least, " to ",
                                     task.most, " (", task.unit, ")"));
  }
  return sizes;
}

Json messages_of(const std::vector<TaskPiece>& pieces) {
  JsonList messages;
  for (const TaskPiece& piece : pieces)
    messages.push_back({{"role", piece.answer ? "assistant" : "user"}, {"content", piece.text}});
  return {{"messages", Json::list(std::move(messages))}};
}

}  // namespace

void write_task_file(const TaskFile& options) {
  const TextTask& task = task_of(options);
  const Sizes sizes = sizes_of(options, task);
  if (!options.output.ends_with(".jsonl"))
    throw usage_error("--output",
                      cat("found \"", options.output, "\", expected a name that ends in .jsonl"));
  refuse_existing(options.output);
  const RandomKey key = RandomKey{options.seed}.with("task").with(task.name);
  std::int64_t bytes = 0, answers = 0;
  write_atomically(options.output, [&](const std::filesystem::path& path) {
    OutputFile out(path);
    for (std::int64_t text = 0; text < options.texts; ++text) {
      leave_if_stopped("writing");
      const RandomKey own = key.with(static_cast<std::uint64_t>(text));
      const double range = static_cast<double>(sizes.most - sizes.least + 1);
      const std::vector<TaskPiece> pieces = task_text(
          task,
          {.size = sizes.least + static_cast<std::int64_t>(uniform(own.with("size"), 0) * range),
           .depth = uniform(own.with("depth"), 0),
           .ignored = options.ignored,
           .idle = options.idle},
          own);
      for (const TaskPiece& piece : pieces) {
        bytes += std::ssize(piece.text);
        answers += piece.answer ? 1 : 0;
      }
      out.write(write_json(messages_of(pieces), kLogLine) + "\n");
    }
    out.sync();
    out.close();
  });
  std::printf("%s: %s texts of %s to %s %s, %s of text, %s answers: %s\n", task.name,
              with_commas(options.texts).c_str(), with_commas(sizes.least).c_str(),
              with_commas(sizes.most).c_str(), task.unit,
              human_bytes(static_cast<double>(bytes)).c_str(), with_commas(answers).c_str(),
              options.output.c_str());
}

}  // namespace alibi
