// What goes wrong: Error is for faults the user or the machine can mend, ensure() for our own.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace alibi {

enum class ExitCode { kFailure = 1, kUsage = 2 };  // and 128 + signal

// One fault: where, what was found against what was expected, and the way out.
struct Fault {
  std::string place;         // "configs/x.json: /model/heads", "runs/a/log.jsonl"
  std::string problem;       // "7 does not divide width 768"
  std::string way_out;       // "choose a divisor of 768"; may be empty
  std::string line() const;  // "place: problem (way out)"
};

// Thrown for faults outside the program. what() holds one line per fault, nothing else.
class Error : public std::runtime_error {
 public:
  Error(std::string place, std::string problem, std::string way_out = {},
        ExitCode code = ExitCode::kFailure);
  // Several faults found together (a config with five typing errors); must not be empty.
  Error(const std::vector<Fault>& faults, ExitCode code);
  ExitCode exit_code() const { return code_; }

 private:
  ExitCode code_;
};

// Shorthand for a wrong command line or config: exit code 2.
Error usage_error(std::string place, std::string problem, std::string way_out = {});

// What a signal interrupted before anything was saved; exit code 128 + signal.
Error stopped_error(std::string place, int signal, std::string way_out = {});

// Aborts with the place when our own reasoning is wrong. Never for input.
// (The builtins are what std::source_location is made of; clang 14 cannot read libstdc++'s header.)
void ensure(bool holds, const char* what, const char* file = __builtin_FILE(),
            int line = __builtin_LINE());

}  // namespace alibi
