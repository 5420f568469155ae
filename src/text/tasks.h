// Texts that a program can make without end, and that ask whether a model uses what it has read: an
// answer follows from what stands before it, wherever that stands. Only answers are learned and
// scored.
//
//   passkey         a key is stated on lines of its own among other sentences, and asked for
//                   (Mohtashami and Jaggi 2023, section 4.2)
//   recall          pairs of a key and a value, then all keys again in another order, each with its
//                   value behind it (Arora et al. 2023, section 3: multi-query associative recall);
//                   idle words may stand between the pairs, so that as many pairs are farther away
//   copy            letters, then the same letters (Jelassi et al. 2024, section 3)
//   lookup          letters, then some of them in a row and the one behind them (the same, 4.2)
//   flip_flop       write, ignore and read instructions, each with a bit; a read gives the bit that
//                   was written last (Liu et al. 2023, section 3)
//   needle          one sentence among others states a number, which is asked for (Hsieh et al.
//                   2024, section 3: RULER)
//   needles         several do, each of another name, one of which is asked for
//   variables       assignments of one name to the next; which names hold a value
//   common_words    some words stand there more often than all others
//   frequent_words  words by Zipf's law; the three most frequent
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"

namespace alibi {

struct TaskPiece {
  std::string text;  // begins with a space, but for the first
  bool answer = false;
};

struct TaskShape {
  std::int64_t size = 0;  // in the task's units
  double depth = 0.5;     // where a needle stands: 0 at the beginning, 1 at the end
  double ignored = 0.8;   // of a flip-flop's instructions
  double idle = 0;        // of the words among a recall's pairs; below 1
};

struct TextTask {
  const char* name;
  const char* unit;          // of its size: "pairs"
  std::int64_t least, most;  // size
  bool has_depth;            // it heeds TaskShape::depth
  std::vector<TaskPiece> (*make)(const TaskShape& shape, RandomKey random);  // by task_text()
};

const std::vector<TextTask>& tasks();
// A text: context and answers in turns. A pure function of its arguments; least <= size <= most.
std::vector<TaskPiece> task_text(const TextTask& task, const TaskShape& shape, RandomKey random);

std::vector<std::string> task_names();
// Null: there is none of that name.
const TextTask* find_task(const std::string& name);

// The lines of a passkey, of "pass key" or of one of several; the key, behind a space, is the
// question's answer.
std::string passkey_statement(const std::string& name, const std::string& key);
std::string passkey_question(const std::string& name);

}  // namespace alibi
