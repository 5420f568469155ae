// This machine among others.
#pragma once

#include <string>
#include <vector>

namespace alibi {

std::string boot_id();            // of this start of the system; "" where it has none
std::string network_namespace();  // of this process; "" where there are none

// Of this machine's processors those that this thread may run on, by their numbers; not empty.
std::vector<int> allowed_processors();

// As ::socket(): -1 and errno on failure. Programs that this one starts do not have it.
int open_socket(int family, int kind);

}  // namespace alibi
