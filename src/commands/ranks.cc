#include "commands/ranks.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
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
  // Behind the command: what follows "--" is no option.
  words.insert(words.begin() + 2,
               {cat("--rank=", rank), cat("--world-size=", size), cat("--store=", store)});
  return words;
}

std::filesystem::path make_temporary_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "alibi-ranks-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    throw Error(name, cat("cannot be made: ", std::strerror(errno)), "set TMPDIR");
  return name;
}

}  // namespace

std::vector<Option> with_ranks(std::vector<Option> options, RanksOptions& ranks) {
  const std::vector<Option> more = {
      {.name = "--processes",
       .meaning = "Share the work among this many processes on this machine",
       .target = &ranks.processes,
       .range = OptionRange{1, 4096}},
      {.name = "--rank",
       .meaning = "Which process this is, from 0 on; no launcher needed",
       .target = &ranks.rank,
       .range = OptionRange{0, 65535},
       .excludes = "--processes",
       .given = &ranks.rank_given},
      {.name = "--world-size",
       .meaning = "How many processes there are",
       .target = &ranks.world_size,
       .range = OptionRange{1, 65536},
       .needs = "--rank"},
      {.name = "--store",
       .meaning = "Where they meet: tcp://HOST:PORT, or a file that all see",
       .target = &ranks.store,
       .needs = "--rank"},
      {.name = "--join-timeout",
       .meaning = "Seconds until all must have joined",
       .target = &ranks.join_seconds,
       .shows_default = true,
       .range = OptionRange{1, 86400}},
      {.name = "--exchange-timeout",
       .meaning = "Seconds to wait for another process before it counts as lost",
       .target = &ranks.exchange_seconds,
       .shows_default = true,
       .range = OptionRange{1, 86400}}};
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

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

std::int64_t threads_of_rank(std::int64_t wanted, World& world) {
  if (wanted > 0 || world.is_alone()) return wanted;
  return world.share_of_processors();
}

Ranks::Ranks(const RanksOptions& options, const WorldPlace& place, const CommandLine& line,
             std::filesystem::path folder)
    : folder_(std::move(folder)) {
  if (place.size == 1) {
    world_ = std::make_unique<World>();
    return;
  }
  WorldPlace mine = place;
  if (options.processes > 1) {
    is_temporary_ = folder_.empty();
    if (is_temporary_) folder_ = make_temporary_folder();
    store_ = folder_ / ".ranks";
    std::error_code ignored;
    std::filesystem::remove(store_, ignored);  // of a run that was killed
    mine.store = store_.string();
    for (int rank = 1; rank < place.size; ++rank) {
      const auto before = std::filesystem::file_size(log_of(others_.size() + 1), ignored);
      log_starts_.push_back(ignored ? 0 : before);  // an earlier start's lines stay
      others_.push_back(std::make_unique<ChildProcess>(
          command_of(line, rank, place.size, mine.store), log_of(others_.size() + 1)));
    }
  }
  WorldOptions world;
  world.join = std::chrono::seconds(options.join_seconds);
  world.exchange = std::chrono::seconds(options.exchange_seconds);
  world.while_joining = [this] { check_others(); };
  try {
    world_ = std::make_unique<World>(mine, world);
  } catch (...) {
    clean_up();
    throw;
  }
}

Ranks::~Ranks() {
  report_crashes();
  clean_up();
}

void Ranks::clean_up() {
  std::error_code ignored;
  if (!store_.empty()) std::filesystem::remove(store_, ignored);
  if (is_temporary_) std::filesystem::remove_all(folder_, ignored);
}

std::filesystem::path Ranks::log_of(std::size_t rank) const {
  return folder_ / cat("rank-", rank, ".log");
}

// ", after: LINE" of what it has written since its start; "" where there is none.
std::string Ranks::last_line_of(std::size_t rank) const {
  try {
    const std::string text = read_file(log_of(rank));
    const std::size_t start = std::min<std::size_t>(log_starts_[rank - 1], text.size());
    const std::vector<std::string> lines = split(text.substr(start), '\n');
    return lines.size() > 1 ? ", after: " + lines[lines.size() - 2] : "";
  } catch (const Error&) {  // no log is no reason to fail
    return {};
  }
}

// What failed otherwise has told the other ranks itself.
void Ranks::report_crashes() {
  constexpr double kSeconds = 0.1;  // from the loss of a link to the end of its process
  for (std::size_t i = 0; i < others_.size(); ++i) {
    if (!others_[i]->ended(kSeconds) || !others_[i]->result().killed) continue;
    log_warning(
        cat("rank ", i + 1, " ended with code ", others_[i]->result().code, last_line_of(i + 1)));
  }
}

void Ranks::check_others() const {
  if (const int signal = stop_signal(); signal != 0)
    throw stopped_error("joining the other processes", signal);
  for (std::size_t i = 0; i < others_.size(); ++i) {
    if (!others_[i]->ended(0)) continue;
    throw Error(cat("rank ", i + 1),
                cat("ended with exit code ", others_[i]->result().code, ", expected it to join",
                    last_line_of(i + 1)),
                is_temporary_ ? "" : cat("see ", log_of(i + 1).string()));
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
  report_crashes();
  others_.clear();
  return result;
}

}  // namespace alibi
