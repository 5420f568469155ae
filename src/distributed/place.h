// Where a process stands in its world, as flags or a launcher's variables say it. No network, no
// clock: a function of its arguments.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace alibi {

struct WorldPlace {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // among the ranks of this machine
  int local_size = 1;  // 0: not said; World counts the ranks of each machine
  std::string store;   // where ranks meet: a file's path (one machine), or "tcp://HOST:PORT"
  bool store_is_hosted = false;  // by the launcher; else rank 0 is the host of "tcp://"
  std::string prefix;            // of keys in the store: the launcher's job and count of restarts
  std::string interface;         // of the network; empty: the one that leads to the store
  std::string asked_by;          // "RANK, WORLD_SIZE (torchrun)"; empty: alone
};

using Variables = std::map<std::string, std::string>;  // of the environment, by name
Variables environment();

// What the flags --rank, --world-size and --store ask for; rank -1, size 0: not given.
struct WorldFlags {
  int rank = -1;
  int size = 0;
  std::string store;
};

// From flags, else torchrun's variables, OpenMPI's, PMI's (MPICH, Intel), Slurm's (only inside a
// step), in that order; alone where none asks or the size is 1. Throws Error (exit code 2) naming
// the variables that do not fit.
WorldPlace world_place(const WorldFlags& flags, const Variables& environment);

struct StoreAddress {
  std::string host;
  int port = 0;
};

// Of "tcp://HOST:PORT", where an IPv6 address stands in brackets; nothing for a path. Throws Error
// where it is neither.
std::optional<StoreAddress> store_address(const std::string& store);

bool is_loopback_name(const std::string& host);  // "localhost", "127.0.0.1", "::1"

}  // namespace alibi
