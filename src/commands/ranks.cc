#include "commands/ranks.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

#include "base/error.h"
#include "base/stop.h"
#include "base/strings.h"

namespace alibi {
namespace {

// The same command for another rank: --processes N becomes that rank's place.
std::vector<std::string> command_of(const CommandLine& line, int rank, int size,
                                    const std::string& store) {
  std::vector<std::string> words{own_program().string()};
  for (std::size_t i = 1; i < line.words.size(); ++i) {
    const std::string& word = line.words[i];
    if (word == "--processes") {
      ++i;
    } else if (!word.starts_with("--processes=")) {
      words.push_back(word);
    }
  }
  for (const std::string& word :
       {cat("--rank=", rank), cat("--world-size=", size), cat("--store=", store)})
    words.push_back(word);
  return words;
}

}  // namespace

WorldPlace place_of(const RanksOptions& options) {
  if (options.processes > 0) {
    WorldPlace place;
    place.size = place.local_size = static_cast<int>(options.processes);
    if (place.size > 1) place.asked_by = "--processes";
    return place;
  }
  WorldFlags flags;
  if (options.rank_given) flags.rank = static_cast<int>(options.rank);
  flags.size = static_cast<int>(options.world_size);
  flags.store = options.store;
  return world_place(flags, environment());
}

std::int64_t threads_of_rank(std::int64_t wanted, const World& world) {
  if (wanted > 0 || world.is_alone()) return wanted;
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return std::max<std::int64_t>(1, cores / world.local_size());
}

Ranks::Ranks(const RanksOptions& options, const WorldPlace& place, const CommandLine& line,
             const std::filesystem::path& run_folder) {
  if (place.size == 1) {
    world_ = std::make_unique<World>();
    return;
  }
  WorldPlace mine = place;
  if (options.processes > 1) {
    store_ = run_folder / ".ranks";
    std::error_code ignored;
    std::filesystem::remove(store_, ignored);  // of a run that was killed
    mine.store = store_.string();
    for (int rank = 1; rank < place.size; ++rank) {
      others_.push_back(std::make_unique<ChildProcess>(
          command_of(line, rank, place.size, mine.store), run_folder / cat("rank-", rank, ".log")));
    }
  }
  WorldOptions world;
  world.join = std::chrono::seconds(options.join_seconds);
  world.exchange = std::chrono::seconds(options.exchange_seconds);
  world.while_joining = [this] { check_others(); };
  world_ = std::make_unique<World>(mine, world);
}

Ranks::~Ranks() {
  std::error_code ignored;
  if (!store_.empty()) std::filesystem::remove(store_, ignored);
}

void Ranks::check_others() const {
  if (const int signal = stop_signal(); signal != 0)
    throw stopped_error("joining the other processes", signal);
  for (std::size_t i = 0; i < others_.size(); ++i) {
    if (!others_[i]->ended(0)) continue;
    throw Error(cat("rank ", i + 1),
                cat("ended with exit code ", others_[i]->result().code, ", expected it to join"),
                cat("see rank-", i + 1, ".log in the run folder"));
  }
}

int Ranks::run(const std::function<int(World&)>& work) {
  int result = 0;
  try {
    result = work(*world_);
  } catch (const Error& error) {
    world_->leave(error);
    throw;
  } catch (const std::exception& error) {
    world_->leave(Error("", error.what()));
    throw;
  }
  world_->leave();
  constexpr double kSeconds = 10;
  for (const auto& other : others_) other->ended(kSeconds);
  return result;
}

}  // namespace alibi
