// alibi evaluate --set evaluate.task=TASK, of tasks that ask for answers.
#pragma once

#include <string>
#include <vector>

#include "commands/command_line.h"
#include "commands/evaluation_plan.h"

namespace alibi {

struct AnswersRequest {
  std::vector<std::string> text;  // around passkeys; empty: what the run held out
  std::string output, title;      // output empty: the table only
  bool as_json = false;
};

// All ranks measure; the first prints the table and writes answers.json, answers.csv, answers.jsonl
// (the first model's texts) and index.html.
void evaluate_answers(const std::vector<EvaluationCase>& cases, const AnswersRequest& request,
                      World& world, const CommandLine& command_line);

}  // namespace alibi
