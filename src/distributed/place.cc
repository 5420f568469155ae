#include "distributed/place.h"

#include <unistd.h>

#include <charconv>

#include "base/error.h"
#include "base/printable.h"
#include "base/random.h"
#include "base/strings.h"

namespace alibi {
namespace {

constexpr int kMostRanks = 1 << 20;

const char* find(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() || found->second.empty() ? nullptr : found->second.c_str();
}

// The first of these names that is set, or "".
std::string first_of(const Variables& variables, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* value = find(variables, name)) return value;
  }
  return {};
}

std::optional<std::int64_t> parse_whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

int whole_number(const Variables& variables, const std::string& name, int least, int most) {
  const char* text = find(variables, name);
  const std::string expected = cat("expected a whole number from ", least, " to ", most);
  if (text == nullptr)
    throw usage_error(name, "found no value, " + expected,
                      "set it, or unset the launcher's other variables");
  const auto value = parse_whole(text);
  if (!value || *value < least || *value > most)
    throw usage_error(name, cat("found ", shown(text), ", ", expected),
                      "correct it, or unset the launcher's variables to run alone");
  return static_cast<int>(*value);
}

// The same for a name that may be missing.
std::optional<int> optional_number(const Variables& variables, const std::string& name, int least,
                                   int most) {
  if (find(variables, name) == nullptr) return std::nullopt;
  return whole_number(variables, name, least, most);
}

// How a launcher names what a place needs.
struct Launcher {
  const char* program;
  std::string rank, size, local_rank, local_size;
};

// Of those that are set: "77.0".
std::string job_name(const Variables& variables, std::initializer_list<const char*> names) {
  std::vector<std::string> parts;
  for (const char* name : names) {
    if (const char* value = find(variables, name)) parts.emplace_back(value);
  }
  return join(parts, ".");
}

WorldPlace read_place(const Launcher& names, const Variables& variables) {
  WorldPlace place;
  place.size = whole_number(variables, names.size, 1, kMostRanks);
  place.rank = whole_number(variables, names.rank, 0, kMostRanks);
  place.asked_by = cat(names.rank, ", ", names.size, " (", names.program, ")");
  const std::string way_out = cat("start all ranks by one ", names.program);
  if (place.rank >= place.size)
    throw usage_error(cat(names.rank, ", ", names.size),
                      cat("found rank ", place.rank, " of ", place.size,
                          " ranks, expected a rank from 0 to ", place.size - 1),
                      way_out);
  const auto local_rank = optional_number(variables, names.local_rank, 0, place.size - 1);
  const auto local_size = names.local_size.empty()
                              ? std::nullopt
                              : optional_number(variables, names.local_size, 1, place.size);
  if (local_rank && local_size && *local_rank >= *local_size)
    throw usage_error(cat(names.local_rank, ", ", names.local_size),
                      cat("found rank ", *local_rank, " of ", *local_size,
                          " ranks on this machine, expected a rank from 0 to ", *local_size - 1),
                      way_out);
  // Where one is missing World counts; a device is opened before.
  place.local_rank = local_rank.value_or(0);
  place.local_size = local_rank && local_size ? *local_size : 0;
  return place;
}

std::string tcp_store(const std::string& host, int port) {
  const bool needs_brackets = host.find(':') != std::string::npos;
  return cat("tcp://", needs_brackets ? "[" : "", host, needs_brackets ? "]" : "", ":", port);
}

// The same on every rank of a job, below the ports that systems hand out by themselves.
int port_of(const std::string& job) {
  constexpr int kFirst = 20'000, kCount = 10'000;
  return kFirst + static_cast<int>(RandomKey{}.with(job).value % kCount);
}

// Where ranks meet whose launcher does not say it. `host`: of rank 0, empty where it is not known.
void meet_by_job(const Variables& variables, const std::string& job, const std::string& host,
                 WorldPlace& place) {
  const std::string asked = first_of(variables, {"MASTER_ADDR"});
  place.prefix = job;
  const int port =
      optional_number(variables, "MASTER_PORT", 1, 65'535).value_or(port_of(place.asked_by + job));
  if (asked.empty() && host.empty())
    throw usage_error(place.asked_by,
                      cat("found ", place.size,
                          " ranks, not all on this machine, and no "
                          "MASTER_ADDR, expected the address of rank 0's machine"),
                      cat("set MASTER_ADDR to it and MASTER_PORT to a free port there, the same "
                          "for every rank"));
  place.store = tcp_store(asked.empty() ? host : asked, port);
}

bool is_on_one_machine(const WorldPlace& place) { return place.local_size == place.size; }

WorldPlace place_by_flags(const WorldFlags& flags) {
  constexpr const char* kFlags = "--rank, --world-size, --store";
  constexpr const char* kWayOut = "give all three to every rank";
  WorldPlace place;
  if (flags.size < 1 || flags.size > kMostRanks)
    throw usage_error("--world-size",
                      flags.size == 0 ? "is missing beside --rank or --store"
                                      : cat("found ", flags.size, ", expected 1 to ", kMostRanks),
                      kWayOut);
  if (flags.rank < 0 || flags.rank >= flags.size) {
    const std::string expected = cat("expected a rank from 0 to ", flags.size - 1);
    throw usage_error("--rank",
                      flags.rank == -1 ? cat("is missing, ", expected)
                                       : cat("found ", flags.rank, ", ", expected),
                      kWayOut);
  }
  if (flags.size == 1) return place;
  if (flags.store.empty())
    throw usage_error("--store", "is missing, expected a file's path or tcp://HOST:PORT", kWayOut);
  const auto address = store_address(flags.store);
  place.rank = flags.rank;
  place.size = flags.size;
  place.store = flags.store;
  place.asked_by = kFlags;
  const bool is_here = !address || is_loopback_name(address->host);
  place.local_rank = is_here ? flags.rank : 0;
  place.local_size = is_here ? flags.size : 0;
  return place;
}

WorldPlace place_by_torchrun(const Variables& variables) {
  WorldPlace place =
      read_place({"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"}, variables);
  if (place.size == 1) return place;
  const std::string host = first_of(variables, {"MASTER_ADDR"});
  if (host.empty())
    throw usage_error(
        "MASTER_ADDR",
        cat("found no value beside ", place.asked_by, ", expected the address of rank 0's machine"),
        "start by torchrun, set MASTER_ADDR and MASTER_PORT, or unset RANK and WORLD_SIZE");
  place.store = tcp_store(host, whole_number(variables, "MASTER_PORT", 1, 65'535));
  // The agent keeps its store over restarts: old keys must not be taken for new ones.
  place.prefix = job_name(variables, {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"});
  place.store_is_hosted = first_of(variables, {"TORCHELASTIC_USE_AGENT_STORE"}) == "True";
  if (place.local_size == 0 && is_loopback_name(host)) {
    place.local_rank = place.rank;
    place.local_size = place.size;
  }
  return place;
}

WorldPlace place_by_mpi(const Launcher& names, const Variables& variables) {
  WorldPlace place = read_place(names, variables);
  if (place.size == 1) return place;
  const std::string job =
      first_of(variables, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_KVSNAME", "PMI_JOBID",
                           "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"});
  meet_by_job(variables, job, is_on_one_machine(place) ? "127.0.0.1" : "", place);
  return place;
}

// "node[07-12,20],other" -> "node07"; "" where it is not such a list.
std::string first_host(const std::string& list) {
  std::string host;
  for (std::size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] != '[') {
      host += list[i];
      continue;
    }
    const std::size_t end = list.find(']', i);
    if (end == std::string::npos) return {};
    const std::string range = list.substr(i + 1, end - i - 1);
    host += range.substr(0, range.find_first_of("-,"));
    i = end;
  }
  return host;
}

// An allocation's own shell has a step, too, with a number from here on: it is one process.
constexpr std::int64_t kFirstSpecialStep = 0xffff'fff0;

bool is_slurm_step(const Variables& variables) {
  const auto step = parse_whole(first_of(variables, {"SLURM_STEP_ID"}));
  return step && *step < kFirstSpecialStep && find(variables, "SLURM_PROCID") != nullptr;
}

WorldPlace place_by_slurm(const Variables& variables) {
  const bool has_own_size = find(variables, "SLURM_STEP_NUM_TASKS") != nullptr;
  WorldPlace place =
      read_place({"srun", "SLURM_PROCID", has_own_size ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS",
                  "SLURM_LOCALID", ""},
                 variables);
  if (place.size == 1) return place;
  std::optional<int> nodes;
  for (const char* name : {"SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"}) {
    if (!nodes) nodes = optional_number(variables, name, 1, kMostRanks);
  }
  std::string host;
  if (nodes == 1) {
    host = "127.0.0.1";
    place.local_rank = place.rank;
    place.local_size = place.size;
  } else {
    host = first_host(first_of(variables, {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}));
  }
  const std::string job =
      job_name(variables, {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"});
  meet_by_job(variables, job, host, place);
  return place;
}

WorldPlace place_by_variables(const Variables& variables) {
  const auto has = [&](const char* name) { return find(variables, name) != nullptr; };
  if (has("RANK") && has("WORLD_SIZE")) return place_by_torchrun(variables);
  if (has("OMPI_COMM_WORLD_RANK") || has("OMPI_COMM_WORLD_SIZE"))
    return place_by_mpi({"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                         "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
                        variables);
  // Slurm's own PMI does not say who shares a machine; its variables do.
  const bool by_slurm = is_slurm_step(variables) && !has("MPI_LOCALRANKID");
  if ((has("PMI_RANK") || has("PMI_SIZE")) && !by_slurm)
    return place_by_mpi({"mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
                        variables);
  if (is_slurm_step(variables)) return place_by_slurm(variables);
  // Scripts for other launchers set one of the two; here nobody completes it.
  if (has("RANK") != has("WORLD_SIZE")) {
    const char* given = has("RANK") ? "RANK" : "WORLD_SIZE";
    const char* missing = has("RANK") ? "WORLD_SIZE" : "RANK";
    if (!has("RANK") && whole_number(variables, given, 1, kMostRanks) == 1) return {};
    throw usage_error(
        given, cat("found ", shown(*&variables.at(given)), ", expected ", missing, " beside it"),
        cat("set both, or unset ", given, " to run alone"));
  }
  return {};
}

}  // namespace

Variables environment() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

WorldPlace world_place(const WorldFlags& flags, const Variables& variables) {
  const bool has_flags = flags.rank != -1 || flags.size != 0 || !flags.store.empty();
  WorldPlace place = has_flags ? place_by_flags(flags) : place_by_variables(variables);
  if (place.size == 1) return {};
  place.interface = first_of(variables, {"GLOO_SOCKET_IFNAME"});
  return place;
}

std::optional<StoreAddress> store_address(const std::string& store) {
  const std::string scheme = "tcp://";
  if (store.rfind(scheme, 0) != 0) return std::nullopt;
  const std::string rest = store.substr(scheme.size());
  const std::size_t colon = rest.rfind(':');
  std::string host = rest.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  const auto port = colon == std::string::npos ? std::nullopt : parse_whole(rest.substr(colon + 1));
  if (host.empty() || !port || *port < 1 || *port > 65'535)
    throw usage_error("store", cat("found ", shown(store), ", expected tcp://HOST:PORT or a path"),
                      "give a port from 1 to 65535");
  return StoreAddress{host, static_cast<int>(*port)};
}

bool is_loopback_name(const std::string& host) {
  return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0;
}

}  // namespace alibi
