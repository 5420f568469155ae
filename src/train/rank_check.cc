#include "train/rank_check.h"

#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/version.h"
#include "config/load.h"

namespace alibi {
namespace {

std::string place_of_rank(std::size_t rank) { return cat("rank ", rank); }

// What may differ between machines: where things lie, and what a machine can bear. All else decides
// the bits, or when ranks meet.
void take_places(const Config& of, Config& config) {
  config.run.folder = of.run.folder;
  config.run.name = of.run.name;
  config.data.train = of.data.train;
  config.data.valid = of.data.valid;
  config.data.cache_folder = of.data.cache_folder;
  config.tokenizer.file = of.tokenizer.file;
  config.initialize.from = of.initialize.from;  // its weights are compared (train/state.cc)
  config.runtime.threads = of.runtime.threads;
  config.runtime.memory_limit_bytes = of.runtime.memory_limit_bytes;
}

void refuse_other_config(World& world, const Config& config) {
  const std::vector<std::string> all = world.gather(config_json(config));
  const Config first = parse_config(all[0], "config of rank 0");
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    Config other = parse_config(all[rank], "config of " + place_of_rank(rank));
    take_places(first, other);
    const auto differences = config_differences(first, other);
    if (differences.empty()) continue;
    throw usage_error(cat(place_of_rank(rank), ": ", differences.front().pointer),
                      cat("found ", differences.front().second, ", expected rank 0's ",
                          differences.front().first),
                      "give every process the same config");
  }
}

// A folder of the same name may lie on another machine's own disk, so its name is no proof.
void refuse_other_folder(World& world, const std::filesystem::path& folder) {
  const std::string name = world.gather(cat(".seen-by-all-", ::getpid(), "-", seconds_now()))[0];
  std::error_code ignored;
  if (world.is_first()) write_file_atomic(folder / name, "");
  world.barrier();
  const bool seen = std::filesystem::exists(folder / name, ignored);
  const std::vector<std::string> all = world.gather(seen ? "seen" : "");
  if (world.is_first()) std::filesystem::remove(folder / name, ignored);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (!all[rank].empty()) continue;
    throw usage_error(place_of_rank(rank),
                      cat("does not see the run folder ", folder.string(), " of rank 0"),
                      "set run.folder to a folder that all machines share");
  }
}

}  // namespace

void refuse_different(World& world, const std::string& mine, const std::string& what,
                      const std::string& way_out) {
  const std::vector<std::string> all = world.gather(mine);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    throw usage_error(place_of_rank(rank),
                      cat("found ", what, " ", all[rank], ", expected rank 0's, ", all[0]),
                      way_out);
  }
}

void warn_of_other_arithmetic(World& world, const std::string& arithmetic) {
  const std::vector<std::string> all = world.gather(arithmetic);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0] || !world.is_first()) continue;
    log_warning(cat(place_of_rank(rank), ": computes with ", all[rank], ", rank 0 with ", all[0],
                    "; the last bits will not be those of one process"));
  }
}

void settle_linear_layers_as_first(World& world, RuntimeConfig& runtime,
                                   const std::function<void(RuntimeConfig&)>& settle) {
  world.while_others_wait([&] {
    if (world.is_first()) settle(runtime);
  });
  const std::string first = world.gather(name_of(runtime.linear_layers))[0];
  for (const LinearLayers layers :
       {LinearLayers::kAuto, LinearLayers::kPacked, LinearLayers::kLibtorch})
    if (first == name_of(layers)) runtime.linear_layers = layers;
}

void refuse_other_ranks(World& world, const Config& config,
                        const std::filesystem::path& run_folder) {
  if (world.is_alone()) return;
  refuse_different(world, kVersion, "program version", "start the same program everywhere");
  // First: what a resumed run has stored each rank takes from the folder that it sees.
  refuse_other_folder(world, run_folder);
  refuse_other_config(world, config);
}

void refuse_other_text(World& world, const PreparedText& text) {
  if (world.is_alone()) return;
  refuse_different(world, text.data_hash, "tokenised text",
                   "give every machine the same text and tokenizer");
}

}  // namespace alibi
