// An Error as it travels to other ranks: exit code and text.
#pragma once

#include <string>

#include "base/error.h"

namespace alibi {

std::string rank_message(const Error& error);
std::string rank_message(const std::string& text);  // of an exception that is no Error

// What the others throw of it: each line names rank `rank`. Whatever the message holds.
Error error_of_rank(int rank, const std::string& message);

}  // namespace alibi
