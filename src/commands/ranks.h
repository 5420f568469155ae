// The processes that train or measure together: started here (--processes), or by a launcher that
// this one is a child of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/process.h"
#include "commands/command_line.h"
#include "distributed/world.h"

namespace alibi {

// As the command line says; no number given: as the launcher's variables say.
struct RanksOptions {
  std::int64_t processes = 0;
  std::int64_t rank = 0, world_size = 0;
  bool rank_given = false;
  std::string store;
  std::int64_t join_seconds = 120, exchange_seconds = 60;
};

// The options of a command with those that fill `ranks` behind them.
std::vector<Option> with_ranks(std::vector<Option> options, RanksOptions& ranks);

// Throws Error (exit code 2) where flags or variables do not fit together.
WorldPlace place_of(const RanksOptions& options);

// `wanted`, or where that is 0 this rank's share of the processors: launchers say
// OMP_NUM_THREADS=1, which wastes the others. 0 for a process alone: as its environment says. Every
// rank calls it.
std::int64_t threads_of_rank(std::int64_t wanted, World& world);

class Ranks {
 public:
  // With --processes starts the other ranks, the same command, which print into
  // `folder`/rank-N.log; then joins. Without a folder, one in the system's temporary folder, which
  // goes with this object.
  Ranks(const RanksOptions& options, const WorldPlace& place, const CommandLine& line,
        std::filesystem::path folder = {});
  ~Ranks();  // others that still run are killed; says which of them had crashed
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // Calls `work` and returns what it returns, after the other ranks that were started here have
  // left. What it throws the other ranks throw, too.
  int run(const std::function<int(World&)>& work);

 private:
  void check_others() const;  // throws where this process is to stop, or a rank started here ended
  void clean_up();
  std::filesystem::path log_of(std::size_t rank) const;
  std::string last_line_of(std::size_t rank) const;
  void report_crashes();

  std::filesystem::path folder_;
  bool is_temporary_ = false;
  std::filesystem::path store_;  // made here; empty: not
  std::vector<std::unique_ptr<ChildProcess>> others_;
  std::vector<std::uintmax_t> log_starts_;  // of their logs, in bytes
  std::unique_ptr<World> world_;
};

}  // namespace alibi
