// Which address of this machine others reach.
#pragma once

#include <string>

namespace alibi {

struct OwnAddress {
  std::string text;  // numeric
  bool is_loopback = false;
};

// The address from which packets to `host` leave. Sends nothing. Throws Error at `place` where the
// name is unknown or no way leads there.
OwnAddress own_address_towards(const std::string& host, const std::string& place);

// A listening port's socket on 127.0.0.1, not yet listening: -1 where the port is taken. 0 takes
// any free one, which `port_of` tells.
int bind_to_loopback(int port);
int port_of(int descriptor);

std::string machine_name();  // differs between machines, and between containers of one
// Equal where 127.0.0.1 is the same place: differs between network namespaces, too.
std::string loopback_name();

}  // namespace alibi
