// alibi evaluate --set evaluate.task=passkey
#pragma once

#include <string>
#include <vector>

#include "commands/command_line.h"
#include "commands/evaluation_plan.h"

namespace alibi {

struct PasskeyRequest {
  std::vector<std::string> text;  // of the filler; empty: what the run held out
  std::string output, title;      // output empty: the table only
};

// All ranks measure; the first prints the table and writes passkey.json, passkey.csv, passkey.jsonl
// (the first model's texts) and index.html.
void evaluate_passkeys(const std::vector<EvaluationCase>& cases, const PasskeyRequest& request,
                       World& world, const CommandLine& command_line);

}  // namespace alibi
