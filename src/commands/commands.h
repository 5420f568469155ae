// The commands of the program, one file each.
#pragma once

#include <exception>
#include <string>

#include "commands/command_line.h"

namespace alibi {

Command program();  // all of them

Command prepare_command();
Command train_command();
Command evaluate_command();
Command compare_command();
Command generate_command();
Command export_command();
Command import_command();
Command inspect_command();
Command bench_command();
Command completion_command();

// What an exception not of our own says, in one line without its stack trace; memory that ran out
// in our words, whoever asked for it.
std::string foreign_error(const std::exception& error);

}  // namespace alibi
